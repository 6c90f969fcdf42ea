#include "agent/ring/overwriting.hpp"

#include <atomic>
#include <ctime>

#include "agent/ring/writer.hpp"

namespace traceagent::ring {
namespace {

constinit std::atomic<std::uint32_t> threads_at_it{0};
// So many of them never end it: a signal handler left them by siglongjmp. Of who pauses it alone.
constinit std::atomic<std::uint32_t> threads_stuck{0};

// One that seemed to be stuck may have ended it after all.
bool is_anyone_at_it() noexcept {
  const std::uint32_t at_it = threads_at_it.load(std::memory_order_seq_cst);
  if (at_it < threads_stuck.load(std::memory_order_relaxed)) {
    threads_stuck.store(at_it, std::memory_order_relaxed);
  }
  return at_it > threads_stuck.load(std::memory_order_relaxed);
}

}  // namespace

// Counted before it is asked whether it may: who pauses it asks in the other order, and one of the
// two sees the other.
Chunk* claim_or_overwrite(const Ring& ring, std::uint32_t thread_id,
                          const ThreadName& thread_name) noexcept {
  threads_at_it.fetch_add(1, std::memory_order_seq_cst);
  const bool overwrite = target.overwrite.load(std::memory_order_seq_cst);
  Chunk* const chunk = claim_chunk(ring, thread_id, thread_name, overwrite);
  threads_at_it.fetch_sub(1, std::memory_order_release);
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
  threads_stuck.store(threads_at_it.load(std::memory_order_seq_cst), std::memory_order_relaxed);
}

OverwritingPaused::~OverwritingPaused() {
  if (was_on_) target.overwrite.store(true, std::memory_order_relaxed);
}

void forget_overwriting() noexcept {
  threads_at_it.store(0, std::memory_order_relaxed);
  threads_stuck.store(0, std::memory_order_relaxed);
}

}  // namespace traceagent::ring
