#include "agent/door/range_stack.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>

#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {
namespace {

constexpr std::size_t stack_bytes = 4096;

pthread_key_t exit_key;
pthread_once_t exit_key_once = PTHREAD_ONCE_INIT;
bool exit_key_made = false;

void free_stack(void* stack) noexcept {
  own_range_stack = nullptr;
  static_cast<const RangeStack*>(stack)->end_all(event::read_ticks());
  munmap(stack, stack_bytes);
}

void make_exit_key() noexcept { exit_key_made = pthread_key_create(&exit_key, free_stack) == 0; }

struct StartedRange {
  // The range's id while it is open, 1 while it is being filled, 0 when free.
  std::atomic<std::uint64_t> id;
  OpenRange range;
};
constexpr std::size_t started_slots = 256;
constinit std::array<StartedRange, started_slots> started{};
constinit std::atomic<std::uint64_t> next_start{1};

}  // namespace

constinit thread_local RangeStack* own_range_stack = nullptr;
constinit thread_local bool own_pushes_unfollowed = false;

void OpenRange::set_record(event::Record* claimed, std::uint64_t ticks) noexcept {
  record = claimed;
  begin_ticks = ticks;
  generation = ring::target.generation.load(std::memory_order_relaxed);
}

event::Record* OpenRange::own_record() const noexcept {
  if (record == nullptr) return nullptr;
  if (generation != ring::target.generation.load(std::memory_order_relaxed)) return nullptr;
  return record->begin_ticks.load(std::memory_order_relaxed) == begin_ticks ? record : nullptr;
}

void RangeStack::end_all(std::uint64_t ticks) const noexcept {
  for (std::size_t i = 0; i < depth_; ++i) {
    event::Record* const record = ranges_[i].own_record();
    if (record != nullptr) record->end_ticks.store(ticks, std::memory_order_release);
  }
}

RangeStack* RangeStack::make_own() noexcept {
  const int saved_errno = errno;
  pthread_once(&exit_key_once, make_exit_key);
  void* memory =
      mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved_errno;
  if (memory == MAP_FAILED) return nullptr;
  own_range_stack = static_cast<RangeStack*>(memory);  // zeroed pages are an empty stack
  if (exit_key_made) pthread_setspecific(exit_key, own_range_stack);
  return own_range_stack;
}

bool RangeStack::pop(const void* domain, OpenRange& popped) noexcept {
  if (unfollowed_ > 0) {
    --unfollowed_;
    return false;
  }
  for (std::size_t i = depth_; i-- > 0;) {
    if (ranges_[i].domain != domain) continue;
    if (unheard_within_[i] != 0) {
      --unheard_within_[i];
      popped = OpenRange{};
      return true;
    }
    popped = ranges_[i];
    std::copy(ranges_ + i + 1, ranges_ + depth_, ranges_ + i);
    std::copy(unheard_within_ + i + 1, unheard_within_ + depth_, unheard_within_ + i);
    --depth_;
    return true;
  }
  return false;
}

std::uint64_t start_range(const OpenRange& range) noexcept {
  const std::uint64_t number = next_start.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t probe = 0; probe < 8; ++probe) {
    const std::size_t index = (number + probe) % started_slots;
    std::uint64_t free_slot = 0;
    if (!started[index].id.compare_exchange_strong(free_slot, 1, std::memory_order_acquire)) {
      continue;
    }
    started[index].range = range;
    const std::uint64_t id = (number << 8 | index) + (std::uint64_t{1} << 40);
    started[index].id.store(id, std::memory_order_release);
    return id;
  }
  return 0;
}

bool end_range(std::uint64_t id, OpenRange& ended) noexcept {
  StartedRange& slot = started[id % started_slots];
  std::uint64_t expected = id;
  if (id <= 1 || !slot.id.compare_exchange_strong(expected, 1, std::memory_order_acquire)) {
    return false;
  }
  ended = slot.range;
  slot.id.store(0, std::memory_order_release);
  return true;
}

}  // namespace traceagent::door
