#include "tools/clocks/clock_difference.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace traceagent::tools {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t t0 = 1'700'000'000 * second_ns;

ClockDifference between(double first_bound_ns, double second_bound_ns, std::int64_t apart_ns) {
  return ClockDifference({{.at_ns = t0, .bound_ns = first_bound_ns},
                          {.at_ns = t0 + apart_ns, .bound_ns = second_bound_ns}},
                         {});
}

// A difference that is wrong by the bounds at both knots, and bends as fast as it may between: no
// time is more wrong than is said, and one is as wrong.
TEST(ClockDifference, between_two_knots_bends_as_far_as_the_wandering_lets_it) {
  const double apart_s = 100;
  for (const double second_bound_ns : {1000.0, 3000.0, 9000.0}) {
    const ClockDifference difference = between(1000, second_bound_ns, 100 * second_ns);
    double worst_ns = 0;
    for (int i = 0; i <= 1000; ++i) {
      const double t_s = apart_s * i / 1000;
      const double wrong_ns = 1000 + (second_bound_ns - 1000) * t_s / apart_s +
                              ClockLimits().wander_per_second * 1e9 * t_s * (apart_s - t_s) / 2;
      worst_ns = std::max(worst_ns, wrong_ns);
      const std::int64_t at = t0 + std::llround(t_s * 1e9);
      EXPECT_NEAR(difference.bound_ns({at, at}), wrong_ns, 0.01) << t_s;
    }
    EXPECT_NEAR(difference.bound_ns({t0, t0 + 100 * second_ns}), worst_ns, 0.1);
  }
}

// Where the wandering would let it go further than the drift.
TEST(ClockDifference, between_two_knots_days_apart_drifts) {
  const std::int64_t days_ns = 400'000 * second_ns;
  const ClockDifference difference = between(1000, 5000, days_ns);
  const double whole_ns = 5000 + ClockLimits().drift * static_cast<double>(days_ns) / 2;
  EXPECT_NEAR(difference.bound_ns({t0, t0 + days_ns}), whole_ns, 0.01 * whole_ns);
  const double quarter_ns = 5000 + ClockLimits().drift * static_cast<double>(days_ns) / 4;
  EXPECT_LE(difference.bound_ns({t0, t0 + days_ns / 4}), quarter_ns);
}

}  // namespace
}  // namespace traceagent::tools
