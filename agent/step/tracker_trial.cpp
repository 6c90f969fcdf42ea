// Of `auto`: whether the ranges of a known name are the steps, while they are few.

#include "agent/step/tracker.hpp"

namespace traceagent::step {

// One range of a known name, before the loop or around it, is no proof that it is the loop's own.
void Tracker::try_ranges(const LogEntry& entry) noexcept {
  constexpr std::uint64_t steps_before_belief = 2;
  if (entry.token.exact != followed_name_.load(std::memory_order_relaxed)) return;
  patience_start_ns_ = 0;
  lock_notes_->hold();
  const bool is_begin = entry.kind == LogEntry::Kind::range_begin;
  if (is_begin && ranges_.steps_begun() >= steps_before_belief) end_trial();
}

void Tracker::end_trial() noexcept {
  on_trial_.store(false, std::memory_order_relaxed);
  listener_.on_steps_doubtful(false);
  update_interest();
}

// The range stays away for many steps that the calls make, or holds more of them than a step has
// micro batches.
void Tracker::prefer_sequence(std::uint64_t ticks) noexcept {
  constexpr std::uint64_t steps_away = 8, steps_within = 256;
  if (lock_notes_->steps_held() < (ranges_.is_open() ? steps_within : steps_away)) return;
  ranges_.stop(ticks);
  source_.store(Source::sequence, std::memory_order_relaxed);
  end_trial();
  lock_notes_->release();
}

}  // namespace traceagent::step
