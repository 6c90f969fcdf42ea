#include "agent/step/budget.hpp"

#include <algorithm>

namespace traceagent::step {

bool Budget::may_go_down(double cost_ns, double passed_ns) const noexcept {
  if (level_ == rules_.levels || room_ns_ >= 0 || since_change_ns_ < rules_.settle_ns) return false;
  // A debt that is being paid off is no reason to leave out more.
  if (cost_ns <= rules_.share * passed_ns) return false;
  if (level_ + 1 < rules_.levels || rules_.last_settle_ns == 0) return true;
  return since_change_ns_ >= rules_.last_settle_ns &&
         spent_since_change_ns_ > rules_.share * since_change_ns_;
}

bool Budget::may_go_up() const noexcept {
  return level_ > 0 && room_ns_ >= capacity_ns() && since_change_ns_ >= pause_ns_;
}

void Budget::measure(double cost_ns, double passed_ns) noexcept {
  spent_ns_ += cost_ns;
  elapsed_ns_ += passed_ns;
  const double kept = std::max(1 - passed_ns / rules_.window_ns, 0.0);
  recent_spent_ns_ = recent_spent_ns_ * kept + cost_ns;
  recent_elapsed_ns_ = recent_elapsed_ns_ * kept + passed_ns;
}

bool Budget::look(std::uint64_t now_ns, double cost_ns) noexcept {
  // Of the time before the first look nothing is known: what it cost is counted all the same.
  const double passed_ns =
      has_looked_ && now_ns > last_look_ns_ ? static_cast<double>(now_ns - last_look_ns_) : 0;
  has_looked_ = true;
  last_look_ns_ = now_ns;
  since_change_ns_ += passed_ns;
  spent_since_change_ns_ += cost_ns;
  measure(cost_ns, passed_ns);
  if (!is_limited()) return false;
  // A debt that would take longer than the longest pause is forgiven: the cost of what nobody could
  // stand down would otherwise keep everything out for ever.
  room_ns_ = std::max(room_ns_ + rules_.share * passed_ns - cost_ns,
                      -rules_.share * rules_.longest_pause_ns);
  if (room_ns_ >= capacity_ns()) {
    room_ns_ = capacity_ns();
    spent_ns_ = elapsed_ns_ = 0;
  }
  if (is_on_trial_ && since_change_ns_ >= rules_.trial_ns) {
    is_on_trial_ = false;
    pause_ns_ = rules_.first_pause_ns;
  }
  if (may_go_down(cost_ns, passed_ns)) {
    if (is_on_trial_) pause_ns_ = std::min(2 * pause_ns_, rules_.longest_pause_ns);
    ++level_;
  } else if (may_go_up()) {
    --level_;
  } else {
    return false;
  }
  is_on_trial_ = room_ns_ >= capacity_ns();
  since_change_ns_ = spent_since_change_ns_ = 0;
  return true;
}

}  // namespace traceagent::step
