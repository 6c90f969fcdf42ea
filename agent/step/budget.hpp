#pragma once
// How much the agent may cost, as a bucket of time: a pure function of the costs that it is told
// of.

#include <cstdint>

namespace traceagent::step {

struct BudgetRules {
  double share = 0;  ///< of the time that passes; 0: no limit
  std::uint32_t levels = 1;
  /// The bucket holds that much time's worth: what is spent is averaged over it, and a short burst
  /// is let through whole.
  double window_ns = 10e9;
  /// Between two steps down: how long a step needs to show in the cost.
  double settle_ns = 0;
  /// Before the last step down, which costs more than it looks: over that time the cost must have
  /// been above the share. 0: it is a step like the others.
  double last_settle_ns = 0;
  /// Until a full bucket is let go up again, at first and at most.
  double first_pause_ns = 1e9;
  double longest_pause_ns = 300e9;
  /// A level that empties the bucket within this time after going up was too much.
  double trial_ns = 10e9;
};

/// Level 0 leaves nothing out, the last one next to nothing. It goes down a level at a time while
/// the bucket is empty and is spent from, and up again, one level, when the bucket is full and the
/// pause over; a level that does not last doubles the pause. So the cost over any time is at most
/// the share of it and one bucket, whatever the job does, but for what is spent between two looks.
class Budget {
 public:
  explicit Budget(const BudgetRules& rules) noexcept
      : rules_(rules), room_ns_(capacity_ns()), pause_ns_(rules.first_pause_ns) {}

  /// `cost_ns` was spent since the last look. True where the level has changed.
  bool look(std::uint64_t now_ns, double cost_ns) noexcept;

  std::uint32_t level() const noexcept { return level_; }
  bool is_limited() const noexcept { return rules_.share > 0; }
  bool is_empty() const noexcept { return is_limited() && room_ns_ < 0; }
  /// More is spent than the share, at times: worth a closer look.
  bool is_drawn_on() const noexcept { return is_limited() && room_ns_ < 0.9 * capacity_ns(); }
  /// The share that was spent of late: about the last `window_ns`.
  double recent_share() const noexcept {
    return recent_elapsed_ns_ > 0 ? recent_spent_ns_ / recent_elapsed_ns_ : 0;
  }
  /// The share that was spent since the bucket was last full; of late, while it is full.
  double spent_share() const noexcept {
    return elapsed_ns_ > 0 ? spent_ns_ / elapsed_ns_ : recent_share();
  }

 private:
  double capacity_ns() const noexcept { return rules_.share * rules_.window_ns; }
  void measure(double cost_ns, double passed_ns) noexcept;
  bool may_go_down(double cost_ns, double passed_ns) const noexcept;
  bool may_go_up() const noexcept;

  BudgetRules rules_;
  double room_ns_;
  double pause_ns_;
  double spent_ns_ = 0;         // since the bucket was full
  double elapsed_ns_ = 0;       // since then
  double recent_spent_ns_ = 0;  // what is long ago fades
  double recent_elapsed_ns_ = 0;
  double since_change_ns_ = 0;
  double spent_since_change_ns_ = 0;
  std::uint64_t last_look_ns_ = 0;
  std::uint32_t level_ = 0;
  bool has_looked_ = false;
  bool is_on_trial_ = false;
};

}  // namespace traceagent::step
