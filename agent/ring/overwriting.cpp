#include "agent/ring/overwriting.hpp"

#include <atomic>
#include <ctime>

#include "agent/ring/writer.hpp"

namespace traceagent::ring {
namespace {

constinit std::atomic<std::uint32_t> threads_at_it{0};

}  // namespace

// Counted before it is asked whether it may: who pauses it asks in the other order, and one of the
// two sees the other.
Chunk* claim_or_overwrite(const Ring& ring, std::uint32_t thread_id,
                          const char* thread_name) noexcept {
  threads_at_it.fetch_add(1, std::memory_order_seq_cst);
  const bool overwrite = target.overwrite.load(std::memory_order_seq_cst);
  Chunk* const chunk = claim_chunk(ring, thread_id, thread_name, overwrite);
  threads_at_it.fetch_sub(1, std::memory_order_release);
  return chunk;
}

OverwritingPaused::OverwritingPaused() noexcept
    : was_on_(target.overwrite.exchange(false, std::memory_order_seq_cst)) {
  if (!was_on_) return;
  // It takes microseconds, but where a thread is kept from its core. Bounded: one that a signal
  // handler left by siglongjmp never ends it.
  constexpr int most_looks = 1000;
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < most_looks && threads_at_it.load(std::memory_order_seq_cst) != 0; ++i) {
    nanosleep(&pause, nullptr);
  }
}

OverwritingPaused::~OverwritingPaused() {
  if (was_on_) target.overwrite.store(true, std::memory_order_relaxed);
}

void forget_overwriting() noexcept { threads_at_it.store(0, std::memory_order_relaxed); }

}  // namespace traceagent::ring
