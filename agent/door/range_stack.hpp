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
// Null until the thread's first push that somebody may ask for.
[[gnu::visibility("hidden")]] extern constinit thread_local RangeStack* own_range_stack
    __attribute__((tls_model("initial-exec")));
[[gnu::visibility("hidden")]] extern constinit thread_local bool own_pushes_unfollowed
    __attribute__((tls_model("initial-exec")));

// Pushes and pops are followed from the thread's outermost heard range inwards, in every mode: a
// pop must not close a range that was recorded when its own push was not. A push outside of it that
// nobody hears has no place here: its pop finds none of its domain, as each push within has been
// popped by then. Within it, unheard pushes of the same domain are counted.
class RangeStack {
 public:
  // No range of this thread is followed.
  static bool is_empty_here() noexcept {
    const RangeStack* own = own_range_stack;
    return own == nullptr || own->depth_ == 0;  // none is too deep but beyond `deepest`
  }

  // From here on a pop in this thread that finds no push may be of one that nobody listened to.
  static void note_unfollowed_push() noexcept {
    if (!own_pushes_unfollowed) own_pushes_unfollowed = true;
  }
  static bool has_unfollowed_pushes() noexcept { return own_pushes_unfollowed; }

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
    unheard_within_[depth_] = 0;
    OpenRange& range = ranges_[depth_++];
    // A signal handler that pushes and pops from here on uses the places above.
    std::atomic_signal_fence(std::memory_order_seq_cst);
    range.record = nullptr;
    range.domain = domain;
    range.step_name = step::no_step_name;
    return &range;
  }

  // A push that nobody hears; false where the innermost range is of another domain: push() it.
  bool push_unheard(const void* domain) noexcept {
    if (unfollowed_ != 0) return false;
    if (depth_ == 0) {
      note_unfollowed_push();
      return true;
    }
    if (ranges_[depth_ - 1].domain != domain) return false;
    count_up(unheard_within_[depth_ - 1]);
    return true;
  }
  // What push() gave has been heard, or has not: then it is as push_unheard() would have had it.
  // Its place goes last: a signal handler's ranges use the places above until then.
  void keep_if_heard() noexcept {
    if (depth_ == 0 || !ranges_[depth_ - 1].is_unheard()) return;
    if (depth_ == 1) {
      note_unfollowed_push();
    } else if (ranges_[depth_ - 2].domain == ranges_[depth_ - 1].domain) {
      count_up(unheard_within_[depth_ - 2]);
    } else {
      return;
    }
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --depth_;
  }

  // The pop of a push_unheard() that was the domain's last and the thread's; else pop().
  bool pop_unheard(const void* domain) noexcept {
    if (unfollowed_ != 0 || depth_ == 0 || ranges_[depth_ - 1].domain != domain) return false;
    std::uint32_t& unheard = unheard_within_[depth_ - 1];
    if (unheard == 0) return false;
    count_down(unheard);
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

  // One more or less, the usual numbers by constants: what is stored depends on a branch, which is
  // predicted, and not on what was loaded. Else each push waits for the pop before it, through
  // memory: 3 ns a pair while nothing is recorded.
  static void count_up(std::uint32_t& count) noexcept {
    if (count == 0) {
      count = constant<1>();
    } else if (count == 1) {
      count = constant<2>();
    } else {
      ++count;
    }
  }
  static void count_down(std::uint32_t& count) noexcept {
    if (count == 1) {
      count = constant<0>();
    } else if (count == 2) {
      count = constant<1>();
    } else {
      --count;
    }
  }
  // The compiler would see through the number itself, and add.
  template <std::uint32_t value>
  static std::uint32_t constant() noexcept {
    std::uint32_t hidden = value;
    __asm__("" : "+r"(hidden));
    return hidden;
  }

  std::size_t depth_ = 0;
  std::size_t unfollowed_ = 0;  // pushed beyond `deepest`
  OpenRange ranges_[deepest];
  std::uint32_t unheard_within_[deepest];  // of the range's domain, since
};
static_assert(sizeof(RangeStack) <= 4096);

// nvtxRangeStart: any thread may end it. The id is never 0; 0 means "not followed".
std::uint64_t start_range(const OpenRange& range) noexcept;
bool end_range(std::uint64_t id, OpenRange& ended) noexcept;

}  // namespace traceagent::door
