#include "tools/clocks/clock_lines.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace traceagent::tools {
namespace {

constexpr double second_ns = 1e9;

// What the difference is at a time, and bends by as much as it may: this way or that.
double bent(double dt_ns, double drift, double way) {
  return drift * dt_ns + way * wandered_ns(ClockLimits(), dt_ns);
}

// At an end of all times, where d bends one way as far as it may from there on: no less could be
// said, and no more is.
TEST(ClockLines, say_no_more_and_no_less_than_two_points_on_one_side) {
  for (const double way : {-1.0, 1.0}) {
    for (const double side : {-1.0, 1.0}) {
      const double near_ns = side * 5 * second_ns;
      const double far_ns = side * 25 * second_ns;
      const double drift = 30e-6;
      constexpr double open_ns = 1e6;
      // It is not above the near one, nor below the far one; the others say nothing.
      const ClockPoint below_near{near_ns, bent(near_ns, drift, way) - open_ns};
      const ClockPoint below_far{far_ns, bent(far_ns, drift, way)};
      const ClockPoint above_near{near_ns, -bent(near_ns, drift, way)};
      const ClockPoint above_far{far_ns, -bent(far_ns, drift, way) - open_ns};
      const ClockLines lines({below_near, below_far}, {above_near, above_far}, {});
      ASSERT_TRUE(lines.has_any());
      EXPECT_GE(lines.most_ns(), -1e-3);
      EXPECT_LE(lines.least_ns(), 0);
      // The other way it would be as much further off: |d''| t1 t2 / 2, to both sides.
      const double bent_ns = ClockLimits().wander_per_second * 1e-9 * near_ns * far_ns;
      EXPECT_NEAR(lines.most_ns(), way > 0 ? 0 : bent_ns, 1e-3);
    }
  }
}

// A difference whose drift changes as fast as it may, now up and now down.
class WanderingDifference {
 public:
  explicit WanderingDifference(std::mt19937_64& random) {
    std::uniform_real_distribution<double> drifts(-50e-6, 50e-6);
    double drift = drifts(random);
    bool up = random() % 2 == 0;
    for (double& value : values_) {
      value = sum_;
      const double change = limits_.wander_per_second * 1e-9 * step_ns;
      sum_ += (drift + (up ? change : -change) / 2) * step_ns;
      drift += up ? change : -change;
      up = random() % 64 == 0 ? !up : up;
    }
  }
  static constexpr double step_ns = 0.1 * second_ns;
  static constexpr int steps = 1000;
  [[nodiscard]] double at(int step) const { return values_[static_cast<std::size_t>(step)]; }

 private:
  ClockLimits limits_;
  double sum_ = 0;
  double values_[steps] = {};
};

TEST(ClockLines, hold_what_wanders_as_fast_as_it_may) {
  std::mt19937_64 random(16);
  for (int job = 0; job < 2000; ++job) {
    const WanderingDifference d(random);
    // At the beginning, at the end, and within.
    for (const int from : {0, WanderingDifference::steps - 1, WanderingDifference::steps / 3}) {
      std::vector<ClockPoint> below;
      std::vector<ClockPoint> above_negated;
      for (int step = 0; step < WanderingDifference::steps; ++step) {
        if (random() % 40 != 0) continue;
        const double t_ns = (step - from) * WanderingDifference::step_ns;
        const double slack_ns = random() % 4 == 0 ? 0 : static_cast<double>(random() % 5000);
        const double side = random() % 2 == 0 ? 1 : -1;
        (side > 0 ? below : above_negated).push_back({t_ns, side * d.at(step) - slack_ns});
      }
      if (below.empty() || above_negated.empty()) continue;
      const ClockLines lines(below, above_negated, {});
      ASSERT_TRUE(lines.has_any()) << job;
      ASSERT_LE(lines.least_ns(), d.at(from) + 1e-2) << job;
      ASSERT_GE(lines.most_ns(), d.at(from) - 1e-2) << job;
    }
  }
}

}  // namespace
}  // namespace traceagent::tools
