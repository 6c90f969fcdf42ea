#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace traceagent::trace {

// At `at_ns` of the clock that is corrected, so much is added.
struct ClockKnot {
  std::int64_t at_ns = 0;
  std::int64_t offset_ns = 0;
  friend bool operator==(const ClockKnot&, const ClockKnot&) = default;
};

// Takes the times of one clock to another's: straight from each knot to the next, and on beyond the
// first and the last; with one knot by the same offset everywhere.
class ClockCorrection {
 public:
  ClockCorrection() = default;
  // In the order of time; no knot may take away more from its predecessor's offset than the time
  // between them: so the order of times is kept.
  explicit ClockCorrection(std::vector<ClockKnot> knots) : knots_(std::move(knots)) {
    if (std::all_of(knots_.begin(), knots_.end(),
                    [](const ClockKnot& knot) { return knot.offset_ns == 0; })) {
      knots_.clear();
    }
  }

  [[nodiscard]] bool is_none() const { return knots_.empty(); }
  [[nodiscard]] const std::vector<ClockKnot>& knots() const { return knots_; }

  // Wraps rather than overflows: a damaged base must not be undefined behaviour.
  [[nodiscard]] std::int64_t corrected(std::int64_t ns) const {
    if (knots_.empty()) {
      return ns;
    }
    const ClockKnot& knot = knots_[piece_of(ns)];
    // Rounds by hand: llround would need libm, which the agent's library does without.
    constexpr double most = 9e18;  // what an integer holds; further off are damaged times only
    const double drifted =
        std::clamp(drift_at(ns) * static_cast<double>(less(ns, knot.at_ns)), -most, most);
    const auto drifted_ns = static_cast<std::int64_t>(drifted + (drifted < 0 ? -0.5 : 0.5));
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(ns) +
                                     static_cast<std::uint64_t>(knot.offset_ns) +
                                     static_cast<std::uint64_t>(drifted_ns));
  }

  // False: all durations stay as they are.
  [[nodiscard]] bool has_drift() const { return knots_.size() > 1; }
  // Between two corrected times, so that what ends at one time ends at one time still. What is
  // none, or ends beyond all times, stays as it is.
  [[nodiscard]] std::int64_t corrected_duration(std::int64_t begin_ns, std::int64_t dur_ns) const {
    std::int64_t end_ns = 0;
    std::int64_t between_ns = 0;
    const bool is_one =
        has_drift() && dur_ns > 0 && !__builtin_add_overflow(begin_ns, dur_ns, &end_ns) &&
        !__builtin_sub_overflow(corrected(end_ns), corrected(begin_ns), &between_ns);
    return is_one && between_ns >= 0 ? between_ns : dur_ns;
  }

  // Nanoseconds for each nanosecond.
  [[nodiscard]] double drift_at(std::int64_t ns) const {
    if (knots_.size() < 2) {
      return 0.0;
    }
    const std::size_t piece = piece_of(ns);
    const ClockKnot& from = knots_[piece];
    const ClockKnot& to = knots_[piece + 1];
    const std::int64_t length_ns = less(to.at_ns, from.at_ns);
    return length_ns <= 0 ? 0.0
                          : static_cast<double>(less(to.offset_ns, from.offset_ns)) /
                                static_cast<double>(length_ns);
  }

 private:
  // The knot that its piece begins with.
  [[nodiscard]] std::size_t piece_of(std::int64_t ns) const {
    if (knots_.size() <= 2) {
      return 0;
    }
    const auto next = std::upper_bound(
        knots_.begin() + 1, knots_.end() - 1, ns,
        [](std::int64_t time, const ClockKnot& knot) { return time < knot.at_ns; });
    return static_cast<std::size_t>(next - knots_.begin()) - 1;
  }
  static std::int64_t less(std::int64_t a, std::int64_t b) {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
  }

  std::vector<ClockKnot> knots_;
};

}  // namespace traceagent::trace
