#pragma once

#include <cstdint>

namespace traceagent::process {

/// How long a step takes of late, by looks at how many there have been.
class StepPace {
 public:
  void look(std::uint64_t steps, std::uint64_t now_ns) noexcept {
    // From between two edges a step that lasts a minute would seem to take what is left of it.
    const bool is_edge = steps != latest_step_;
    const bool is_short = !is_from_edge_ && steps - from_step_ < 2;
    const bool is_due = is_short || now_ns - since_ns_ > longest_ns;
    if (since_ns_ == 0 || steps < from_step_ || (is_edge && is_due)) {
      since_ns_ = now_ns;
      from_step_ = steps;
      is_from_edge_ = is_edge && has_looked_;
    }
    latest_step_ = steps;
    now_ns_ = now_ns;
    has_looked_ = true;
  }

  /// Since it was begun anew, last.
  [[nodiscard]] std::uint64_t waited_ns() const noexcept { return now_ns_ - since_ns_; }
  /// 0: not known yet.
  [[nodiscard]] std::uint64_t step_ns() const noexcept {
    const std::uint64_t passed = latest_step_ - from_step_;
    if (passed == 0) return 0;
    const std::uint64_t each_ns = waited_ns() / passed;
    return each_ns != 0 ? each_ns : 1;
  }

 private:
  static constexpr std::uint64_t longest_ns = 10'000'000'000;

  std::uint64_t since_ns_ = 0, from_step_ = 0;
  std::uint64_t latest_step_ = 0, now_ns_ = 0;
  bool has_looked_ = false;
  bool is_from_edge_ = false;
};

}  // namespace traceagent::process
