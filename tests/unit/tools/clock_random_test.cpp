#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "tests/unit/tools/random_clocks.hpp"
#include "tests/unit/tools/random_records.hpp"
#include "tools/clocks/clock_tree.hpp"

namespace traceagent::tools {
namespace {

struct Tally {
  std::uint64_t refused = 0;
  std::uint64_t steps = 0;
  std::uint64_t moments = 0;
  std::uint64_t sure = 0;
  std::uint64_t together = 0;  // jobs that were set twice with nothing between that says both sides
};

template <class Marked>
bool is_in(const std::vector<Marked>& all, std::int64_t own_ns) {
  return std::any_of(all.begin(), all.end(), [own_ns](const Marked& each) {
    return each.span.from_ns <= own_ns && own_ns <= each.span.until_ns;
  });
}

// Of a step what is said holds if the clocks were set once in it.
double stated_bound_ns(const RandomJob& job, const ClockRoute& route, std::int64_t own_ns) {
  double bound_ns = route.bound_ns;
  for (const ClockStep& step : route.steps) {
    if (step.span.from_ns <= own_ns && own_ns <= step.span.until_ns) {
      bound_ns = std::max(bound_ns, job.sets_within(step.span) > 1 ? 1e18 : step.bound_ns);
    }
  }
  return bound_ns;
}

// A clock that was set back before the first collective that shows a set, or behind the last, by
// any amount: the times that it told twice are among what others say, and only the set itself is
// unsure.
bool is_told_twice_unseen(const RandomJob& job, const ClockRoute& route, std::int64_t own_ns) {
  std::vector<ClockUnsure> unbounded = route.unsure;
  std::erase_if(unbounded, [](const ClockUnsure& each) { return std::isfinite(each.by_ns); });
  const RandomClock& own = job.clocks[1];
  return std::any_of(own.sets.begin(), own.sets.end(), [&](const auto& set) {
    const std::int64_t before = own.at(set.first - 1);
    const std::int64_t behind = own.at(set.first);
    return behind <= own_ns && own_ns <= before &&
           (is_in(unbounded, before) || is_in(unbounded, behind));
  });
}

void look_at(RandomJob& job, const CollectiveTable::Solved& solved, std::uint64_t seed,
             Tally& tally) {
  if (solved.is_contradictory) {
    ++tally.refused;
    return;
  }
  const auto route = clock_routes(job.spans(), solved.edges, {})[1];
  if (!route) return;
  tally.steps += route->steps.size();
  for (const double moment : job.moments()) {
    const std::int64_t own = job.clocks[1].at(moment);
    ++tally.moments;
    if (is_in(route->unsure, own) || is_told_twice_unseen(job, *route, own)) continue;
    ++tally.sure;
    const auto error =
        static_cast<double>(std::abs(route->correction.corrected(own) - job.clocks[0].at(moment)));
    ASSERT_LE(error, stated_bound_ns(job, *route, own)) << "seed " << seed << " at " << moment;
  }
}

std::uint64_t jobs_wanted(std::uint64_t otherwise) {
  const char* wanted = std::getenv("TRACEAGENT_TEST_CLOCK_JOBS");
  return wanted != nullptr ? std::stoull(wanted) : otherwise;
}

TEST(ClockRandom, jobs_whose_clocks_are_set_have_no_false_bound) {
  Tally tally;
  const std::uint64_t jobs = jobs_wanted(1000);
  for (std::uint64_t seed = 0; seed < jobs; ++seed) {
    RandomJob job({.seed = seed});
    look_at(job, job.solved(), seed, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(tally.refused, jobs / 4);
  EXPECT_GE(tally.steps, jobs / 2);
  EXPECT_GE(tally.sure, tally.moments * 2 / 5) << "nothing is said of most times";
  RecordProperty("refused", std::to_string(tally.refused));
}

TEST(ClockRandom, jobs_whose_clocks_nobody_sets_have_no_false_bound) {
  Tally tally;
  const std::uint64_t jobs = jobs_wanted(300);
  for (std::uint64_t seed = 0; seed < jobs; ++seed) {
    RandomJob job({.seed = seed, .with_sets = false});
    look_at(job, job.solved(), seed, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(tally.refused, 0U);
  EXPECT_EQ(tally.steps, 0U);
  EXPECT_GE(tally.sure, tally.moments / 2);
}

// Of jobs of whose collectives not everything is known.
void look_at_records_of(std::uint64_t seed, Tally& tally) {
  RandomJob job({.seed = seed, .with_sets = seed % 3 != 0});
  RandomRecords records(job, seed);
  if (records.has_sets_together(job)) {
    ++tally.together;
    return;
  }
  look_at(job, records.solved(job), seed, tally);
}

TEST(ClockRandom, jobs_of_which_not_all_is_known_have_no_false_bound) {
  Tally tally;
  const std::uint64_t jobs = jobs_wanted(1000);
  for (std::uint64_t seed = 0; seed < jobs; ++seed) {
    look_at_records_of(seed, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_LE(tally.together, jobs / 20);
  EXPECT_LE(tally.refused, jobs / 4);
  EXPECT_GE(tally.sure, tally.moments * 2 / 5);
  RecordProperty("sure_permille", std::to_string(tally.sure * 1000 / tally.moments));
}

// Each was false once. What of the first was set was set before the first collective that is known,
// or behind the last; of the next before the first that says both sides; of the last three in a
// pause over which collectives of one side alone waited for the other side.
TEST(ClockRandom, jobs_whose_bounds_were_false_have_none) {
  Tally tally;
  for (const std::uint64_t seed : {6329, 9671, 10142, 16870, 17770, 10664, 15559, 23380, 10621,
                                   14513, 16067, 18347, 536, 5915, 18632, 21014, 32527, 103646}) {
    look_at_records_of(seed, tally);
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(tally.together, 0U);
  EXPECT_EQ(tally.refused, 0U);
}

// Two sets a twentieth of a second apart: what was said of the first was true of both together.
TEST(ClockRandom, a_step_next_to_another_one_that_hides_is_unsure) {
  Tally tally;
  RandomJob job({.seed = 18377});
  look_at(job, job.solved(), 18377, tally);
  EXPECT_EQ(tally.refused, 0U);
  EXPECT_GT(tally.sure, 0U);
}

// The drift hid where the clock was set, by little more than a millisecond; a step of a fraction of
// that was found beside it.
TEST(ClockRandom, a_step_that_nobody_sets_is_refused) {
  for (const std::uint64_t seed : {29353, 59804}) {
    Tally tally;
    look_at_records_of(seed, tally);
    EXPECT_EQ(tally.refused, 1U) << "seed " << seed;
  }
}

}  // namespace
}  // namespace traceagent::tools
