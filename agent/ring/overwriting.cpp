#include "agent/ring/overwriting.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <ctime>

#include "agent/ring/writer.hpp"

namespace traceagent::ring {
namespace {

// A signal handler may leave one by siglongjmp, which then never ends it. Who has waited for it
// long enough has the others counted in another lot: as a number that is taken off, the one that
// never ends and one that has come since it ended after all would look alike.
// On lines of their own: what each recorded call reads of `target` is not to go with them.
constexpr std::size_t lots = 16;
alignas(64) constinit std::array<std::atomic<std::uint32_t>, lots> threads_at_it{};
constinit std::atomic<std::size_t> present_lot{0};

struct Begun {
  std::size_t lot;
  bool may_overwrite;
};

// Counted before it is asked whether it may: who pauses it asks in the other order, and one of the
// two sees the other. And the lot is looked at once more after that: a pause that left the others
// behind in the meantime has hardly waited for this one.
Begun begin_it() noexcept {
  while (true) {
    const std::size_t lot = present_lot.load(std::memory_order_seq_cst);
    threads_at_it[lot].fetch_add(1, std::memory_order_seq_cst);
    const bool may_overwrite = target.overwrite.load(std::memory_order_seq_cst);
    if (present_lot.load(std::memory_order_seq_cst) == lot) return {lot, may_overwrite};
    threads_at_it[lot].fetch_sub(1, std::memory_order_release);
  }
}

// Where each lot has somebody in it every pause waits for those of the present one.
void leave_them_behind() noexcept {
  const std::size_t lot = present_lot.load(std::memory_order_relaxed);
  for (std::size_t i = 1; i < lots; ++i) {
    const std::size_t other = (lot + i) % lots;
    if (threads_at_it[other].load(std::memory_order_relaxed) != 0) continue;
    present_lot.store(other, std::memory_order_seq_cst);
    return;
  }
}

bool is_anyone_at_it() noexcept {
  const std::size_t lot = present_lot.load(std::memory_order_relaxed);
  return threads_at_it[lot].load(std::memory_order_seq_cst) != 0;
}

}  // namespace

Chunk* claim_or_overwrite(const Ring& ring, std::uint32_t thread_id,
                          const ThreadName& thread_name) noexcept {
  const Begun begun = begin_it();
  Chunk* const chunk = claim_chunk(ring, thread_id, thread_name, begun.may_overwrite);
  threads_at_it[begun.lot].fetch_sub(1, std::memory_order_release);
  return chunk;
}

OverwritingPaused::OverwritingPaused() noexcept
    : was_on_(target.overwrite.exchange(false, std::memory_order_seq_cst)) {
  if (!was_on_) return;
  // It takes microseconds, but where a thread is kept from its core. Bounded, and for those that
  // never end it once.
  constexpr int most_looks = 1000;
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < most_looks; ++i) {
    if (!is_anyone_at_it()) return;
    nanosleep(&pause, nullptr);
  }
  leave_them_behind();
}

OverwritingPaused::~OverwritingPaused() {
  // Release: who overwrites comes after all that was read here.
  if (was_on_) target.overwrite.store(true, std::memory_order_release);
}

void forget_overwriting() noexcept {
  for (std::atomic<std::uint32_t>& lot : threads_at_it) lot.store(0, std::memory_order_relaxed);
  present_lot.store(0, std::memory_order_relaxed);
}

}  // namespace traceagent::ring
