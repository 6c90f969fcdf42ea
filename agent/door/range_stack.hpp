#pragma once
// The open NVTX ranges: pushed ones per thread, started ones per process.

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/event/record.hpp"
#include "agent/step/tracker.hpp"

namespace traceagent::door {

struct OpenRange {
  event::Record* record;  // null: not recorded when it began
  const void* domain;
  std::uint64_t begin_ticks;  // of the record
  std::uint32_t generation;   // of the ring that the record is in
  step::StepName step_name;   // as step detection was told when it began

  // Nobody asks for its end.
  bool is_unheard() const noexcept { return record == nullptr && step_name == step::no_step_name; }
  void set_record(event::Record* claimed, std::uint64_t ticks) noexcept;
  // The record, if it still is this range's: in a forked child it is the parent's, and a range that
  // was open while the flight recorder went round has lost its place to another.
  event::Record* own_record() const noexcept;
};

class RangeStack;
// Null until the thread's first push.
[[gnu::visibility("hidden")]] extern constinit thread_local RangeStack* own_range_stack
    __attribute__((tls_model("initial-exec")));

// Pushes and pops are followed in every mode: a pop must not close a range that was recorded when
// its own push was not. In line, for that is all that a range costs while nothing is recorded.
class RangeStack {
 public:
  // This thread's stack, nullptr when there is no memory for it.
  static RangeStack* of_this_thread() noexcept {
    RangeStack* own = own_range_stack;
    return own != nullptr ? own : make_own();
  }

  // nullptr when it is deeper than we follow; the matching pop is then ignored too.
  OpenRange* push(const void* domain) noexcept {
    if (depth_ == deepest) [[unlikely]] {
      ++unfollowed_;
      return nullptr;
    }
    OpenRange& range = ranges_[depth_++];
    // A signal handler that pushes and pops from here on uses the places above.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    range.record = nullptr;
    range.domain = domain;
    range.step_name = step::no_step_name;
    return &range;
  }

  // Pops the domain's innermost open range if it is_unheard() and the thread's last; else pop().
  bool pop_unheard(const void* domain) noexcept {
    if (unfollowed_ != 0 || depth_ == 0) return false;
    const OpenRange& last = ranges_[depth_ - 1];
    if (last.domain != domain || !last.is_unheard()) return false;
    --depth_;
    return true;
  }

  // The innermost open range of the domain; false when there is none (it began before us).
  bool pop(const void* domain, OpenRange& popped) noexcept;

  // Their thread ends, and nobody will pop them. Open for ever, each would keep its chunk of the
  // ring from being used again.
  void end_all(std::uint64_t ticks) const noexcept;

  // The next pop is of a push that was deeper than we follow.
  bool is_too_deep() const noexcept { return unfollowed_ > 0; }

 private:
  static constexpr std::size_t deepest = 63;

  static RangeStack* make_own() noexcept;

  std::size_t depth_ = 0;
  std::size_t unfollowed_ = 0;  // pushed beyond `deepest`
  OpenRange ranges_[deepest];
};
static_assert(sizeof(RangeStack) <= 4096);

// nvtxRangeStart: any thread may end it. The id is never 0; 0 means "not followed".
std::uint64_t start_range(const OpenRange& range) noexcept;
bool end_range(std::uint64_t id, OpenRange& ended) noexcept;

}  // namespace traceagent::door
