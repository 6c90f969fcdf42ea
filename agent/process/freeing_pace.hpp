#pragma once
// When the writer's thread walks the ring's chunks to give back what nobody needs: a walk of a
// large ring takes half a millisecond, and where nothing can have changed it is for nothing.

#include <cstdint>

namespace traceagent::process {

class FreeingPace {
 public:
  static constexpr std::uint64_t nothing_held = UINT64_MAX;

  explicit FreeingPace(std::uint64_t pause_ticks) noexcept : pause_ticks_(pause_ticks) {}

  // Asked at each turn; what it says true to is done. `any_retired`: since the last time.
  // `held_from`: the begin of the oldest window that is not written. While that stays, what it
  // holds stays, but for a call that ended since; so does what a range holds that never ends.
  bool is_due(std::uint64_t now_ticks, bool any_retired, std::uint64_t held_from,
              bool has_room) noexcept {
    is_retired_ |= any_retired;
    if (!is_retired_ && !has_kept_) return false;
    const bool may_have_changed =
        !has_room || now_ticks >= next_ticks_ || held_from != held_before_;
    if (!may_have_changed && !(is_retired_ && held_from == nothing_held)) return false;
    is_retired_ = false;
    held_before_ = held_from;
    next_ticks_ = now_ticks + pause_ticks_;
    return true;
  }

  // After a walk: whether it had to leave retired chunks as they are.
  void note(bool has_kept) noexcept { has_kept_ = has_kept; }

 private:
  const std::uint64_t pause_ticks_;
  bool is_retired_ = false, has_kept_ = false;
  std::uint64_t held_before_ = nothing_held, next_ticks_ = 0;
};

}  // namespace traceagent::process
