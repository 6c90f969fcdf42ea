#include "config/schedule.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <string>
#include <vector>

namespace traceagent::config {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

char letter(Action action) { return "swar"[static_cast<int>(action)]; }

// s: skip, w: warmup, a: active, r: active and save
std::string actions(const Schedule& schedule, std::uint64_t batches) {
  std::string out;
  for (std::uint64_t b = 0; b < batches; ++b) out += letter(action_at(schedule, b));
  return out;
}

struct Case {
  Schedule schedule;
  std::string expected;
};

TEST(Schedule, TableOfCases) {
  const std::vector<Case> cases = {
      {{0, 0, 1, 4, 1}, "waaarsss"},      {{0, 0, 0, 1, 1}, "rsss"},
      {{0, 0, 0, 1, 0}, "rrrrrr"},        {{0, 0, 0, 3, 1}, "aarsss"},
      {{2, 0, 1, 2, 1}, "sswarsss"},      {{0, 2, 1, 2, 2}, "sswarsswarsss"},
      {{3, 1, 1, 2, 2}, "sssswarswarss"}, {{1, 2, 0, 1, 0}, "sssrssrssrssr"},
      {{0, 0, 2, 1, 3}, "wwrwwrwwrss"},   {{5, 0, 0, 2, 1}, "sssssarss"},
      {{0, 3, 0, 0, 0}, "ssssss"},        {{0, 0, 2, 0, 0}, "wwwwww"},
      {{0, 0, 0, 0, 0}, "ssssss"},
  };
  for (const Case& each : cases) {
    EXPECT_EQ(actions(each.schedule, each.expected.size()).substr(0, each.expected.size()),
              each.expected)
        << show(each.schedule);
  }
}

TEST(Schedule, CyclesBeforeABatchAreThoseThatWereSaved) {
  for (const Schedule& schedule : std::vector<Schedule>{
           {0, 0, 0, 1, 0}, {0, 0, 1, 4, 1}, {3, 1, 1, 2, 2}, {5, 0, 2, 3, 0}, {1, 2, 0, 1, 7}}) {
    std::uint64_t saved = 0;
    for (std::uint64_t batch = 0; batch < 60; ++batch) {
      EXPECT_EQ(cycles_before(schedule, batch), saved) << show(schedule) << " at " << batch;
      saved += action_at(schedule, batch) == Action::active_and_save ? 1 : 0;
    }
  }
}

TEST(Schedule, LastBatchOfAnEpochEndsACycleOnlyWhileActive) {
  const Schedule schedule{.skip_first = 1, .wait = 1, .warmup = 1, .active = 3, .repeat = 1};
  EXPECT_EQ(action_at(schedule, 0, true), Action::skip);
  EXPECT_EQ(action_at(schedule, 1, true), Action::skip);
  EXPECT_EQ(action_at(schedule, 2, true), Action::warmup);
  EXPECT_EQ(action_at(schedule, 3, true), Action::active_and_save);
  EXPECT_EQ(action_at(schedule, 4, true), Action::active_and_save);
  EXPECT_EQ(action_at(schedule, 5, true), Action::active_and_save);
  EXPECT_EQ(action_at(schedule, 6, true), Action::skip);
}

// The formula as it is published, in numbers that cannot overflow.
char formula(const Schedule& s, unsigned __int128 b, bool last) {
  const unsigned __int128 length = static_cast<unsigned __int128>(s.wait) + s.warmup + s.active;
  const unsigned __int128 first = s.skip_first;
  if (b < first) return 's';
  // repeat * length may need 130 bits only when both are near 2^64; the tests stay below.
  if (s.repeat != 0 && b >= length * s.repeat + first) return 's';
  const unsigned __int128 position = (b - first) % length;
  if (position < s.wait) return 's';
  if (position < static_cast<unsigned __int128>(s.wait) + s.warmup) return 'w';
  return position == length - 1 || last ? 'r' : 'a';
}

TEST(Schedule, AgreesWithTheFormulaForRandomSchedules) {
  std::mt19937_64 random(20261120);
  const auto below = [&](std::uint64_t n) { return random() % n; };
  int saved = 0;
  for (int round = 0; round < 200000; ++round) {
    const Schedule s{below(12), below(6), below(5), 1 + below(6), below(4)};
    const std::uint64_t batch = below(80);
    const bool last = below(8) == 0;
    const char expected = formula(s, batch, last);
    ASSERT_EQ(letter(action_at(s, batch, last)), expected) << show(s) << " at " << batch;
    saved += expected == 'r';
  }
  EXPECT_GT(saved, 10000);  // the cases are not all skips
}

TEST(Schedule, AgreesWithTheFormulaForHugeNumbers) {
  std::mt19937_64 random(7);
  const auto wide = [&] { return random() >> (random() % 64); };
  int checked = 0;
  for (int round = 0; round < 200000; ++round) {
    const Schedule s{wide(), wide(), wide(), wide(), wide() >> 2};
    if (!refusal(s).empty()) continue;
    const std::uint64_t batch = wide();
    ASSERT_EQ(letter(action_at(s, batch)), formula(s, batch, false)) << show(s) << " at " << batch;
    ++checked;
  }
  EXPECT_GT(checked, 50000);
}

TEST(Schedule, RefusesWhatCannotRecord) {
  EXPECT_EQ(refusal({}), "");
  EXPECT_EQ(refusal({0, 0, 0, 1, 0}), "");
  EXPECT_EQ(refusal({0, 0, 0, 0, 1}), "active is 0, so that nothing would ever be recorded");
  EXPECT_EQ(refusal({0, 5, 1, 0, 1}), "active is 0, so that nothing would ever be recorded");
  EXPECT_EQ(refusal({0, most, 1, 1, 1}), "wait + warmup + active is too large");
  EXPECT_EQ(refusal({0, 0, most, 1, 1}), "wait + warmup + active is too large");
  EXPECT_EQ(refusal({most, 0, 1, 1, 1}), "skip_first + wait + warmup + active is too large");
  EXPECT_EQ(refusal({most - 10, 0, 1, 1, most}), "");
}

TEST(Schedule, RecordsInAnEpochThatIsLongEnough) {
  std::mt19937_64 random(11);
  int never = 0;
  for (int round = 0; round < 3000; ++round) {
    const Schedule s{random() % 6, random() % 4, random() % 3, 1 + random() % 4, random() % 4};
    const std::uint64_t epoch = 1 + random() % 12;
    bool records = false;
    for (std::uint64_t batch = 0; batch < epoch; ++batch) {
      records |= action_at(s, batch, batch + 1 == epoch) >= Action::active;
    }
    ASSERT_EQ(records_in_epoch(s, epoch), records) << show(s) << " of " << epoch;
    never += records ? 0 : 1;
  }
  EXPECT_GT(never, 100);
  EXPECT_FALSE(records_in_epoch({most, most, 1, 1, 1}, most));
}

TEST(Schedule, FirstBatchThatIsNotSkipped) {
  EXPECT_EQ(first_non_skip({0, 0, 1, 4, 1}), 0U);
  EXPECT_EQ(first_non_skip({10, 5, 1, 3, 2}), 15U);
  EXPECT_EQ(first_non_skip({10, 5, 0, 3, 0}), 15U);
  for (std::uint64_t skip = 0; skip < 5; ++skip) {
    for (std::uint64_t wait = 0; wait < 5; ++wait) {
      const Schedule s{skip, wait, 1, 2, 1};
      const std::string all = actions(s, 30);
      EXPECT_EQ(all.find_first_not_of('s'), first_non_skip(s)) << show(s);
    }
  }
}

TEST(Schedule, CountsWhatIsSkippedInARow) {
  std::mt19937_64 random(5);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  for (int i = 0; i < 300; ++i) {
    const Schedule schedule{below(6), below(6), below(3), 1 + below(3), below(4)};
    for (std::uint64_t from = 0; from < 60; ++from) {
      std::uint64_t skipped = 0;
      while (skipped < 40 && action_at(schedule, from + skipped) == Action::skip) ++skipped;
      const std::uint64_t said = skipped_from(schedule, from);
      ASSERT_EQ(skipped == 40 ? most : skipped, said) << show(schedule) << " from " << from;
    }
  }
}

TEST(Schedule, NeverAgainMeansThatEveryLaterBatchIsSkipped) {
  std::mt19937_64 random(3);
  int yes = 0;
  int no = 0;
  for (int round = 0; round < 3000; ++round) {
    const Schedule s{random() % 6, random() % 4, random() % 3, 1 + random() % 4, random() % 4};
    const std::string all = actions(s, 120);
    for (std::uint64_t b = 0; b < 60; ++b) {
      const bool only_skips = all.find_first_not_of('s', b + 1) == std::string::npos;
      ASSERT_EQ(never_again(s, b), only_skips) << show(s) << " after " << b;
      (only_skips ? yes : no)++;
    }
  }
  EXPECT_GT(yes, 1000);
  EXPECT_GT(no, 1000);
}

TEST(Schedule, NeverAgainAtTheEdges) {
  EXPECT_FALSE(never_again({0, 0, 0, 1, 0}, most - 1));
  EXPECT_TRUE(never_again({0, 0, 0, 1, 0}, most));
  EXPECT_TRUE(never_again({0, 0, 0, 0, 0}, 0));
  EXPECT_FALSE(never_again({most - 1, 0, 0, 1, 1}, 0));
  EXPECT_TRUE(never_again({0, 0, 0, 1, 1}, 0));
}

TEST(Schedule, ShowsItsCompactForm) {
  EXPECT_EQ(show(Schedule{10, 5, 1, 3, 2}), "skip_first=10,wait=5,warmup=1,active=3,repeat=2");
}

}  // namespace
}  // namespace traceagent::config
