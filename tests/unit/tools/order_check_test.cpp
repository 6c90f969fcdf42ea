#include "tools/import/order_check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace traceagent::tools {
namespace {

// Of events of so many bytes each.
OrderCheck check(const std::vector<std::int64_t>& times, std::size_t bytes) {
  OrderCheck order;
  for (const std::int64_t ns : times) order.add(ns, bytes);
  return order;
}

TEST(OrderCheck, FindsNothingLateInOrder) {
  const OrderCheck order = check({-5, -5, 0, 7, 7, 7, 9}, 10);
  EXPECT_TRUE(order.is_fine());
  EXPECT_EQ(order.late_bytes(), 0U);
  EXPECT_EQ(order.events(), 7U);
  EXPECT_EQ(order.first_ns(), -5);
  EXPECT_EQ(order.last_ns(), 9);
  EXPECT_TRUE(OrderCheck().is_fine());
}

TEST(OrderCheck, MeasuresFromTheFirstLaterEvent) {
  // 4 belongs before the first 5, three events in front.
  EXPECT_EQ(check({1, 2, 5, 5, 6, 4, 7, 6}, 10).late_bytes(), 30U);
  const OrderCheck first = check({3, 4, 5, 2}, 10);
  EXPECT_EQ(first.late_bytes(), 30U);
  EXPECT_EQ(first.first_ns(), 2);
  EXPECT_EQ(first.last_ns(), 5);
}

TEST(OrderCheck, MeasuresWhatALookAtAllBeforeMeasures) {
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::int64_t> times;
    for (int i = 0; i < 400; ++i) times.push_back(i + static_cast<int>(random() % (2 + round)));
    std::size_t wanted = 0;
    for (std::size_t i = 0; i < times.size(); ++i) {
      for (std::size_t before = 0; before < i; ++before) {
        if (times[before] > times[i]) {
          wanted = std::max(wanted, (i - before) * 9);
          break;
        }
      }
    }
    EXPECT_EQ(check(times, 9).late_bytes(), wanted);
  }
}

TEST(OrderCheck, RefusesWhatIsTooLate) {
  const std::size_t most = OrderCheck::most_late_bytes;
  EXPECT_TRUE(check({1, 9, 10, 2}, most / 2).is_fine());
  EXPECT_FALSE(check({1, 9, 10, 2}, most / 2 + 1).is_fine());
  // More events than it remembers, however short.
  std::vector<std::int64_t> times;
  for (int i = 1; i <= 5000; ++i) times.push_back(i);
  times.push_back(3000);
  EXPECT_TRUE(check(times, 1).is_fine());
  times.back() = 500;
  EXPECT_FALSE(check(times, 1).is_fine());
}

std::vector<std::int64_t> spans_of(const std::vector<std::int64_t>& times) {
  TimeSpans spans;
  for (const std::int64_t ns : times) spans.add(ns);
  return spans.bounds_ns();
}

TEST(TimeSpans, AreTheSameInAnyOrder) {
  std::mt19937 random(6);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::int64_t> times;
    for (int i = 0; i < 60; ++i) {
      times.push_back(static_cast<std::int64_t>(random() % 40) * TimeSpans::pause_ns / 2 - 7);
    }
    std::vector<std::int64_t> sorted = times;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int64_t> wanted;
    for (const std::int64_t ns : sorted) {
      if (wanted.empty() || ns - wanted.back() > TimeSpans::pause_ns) {
        wanted.insert(wanted.end(), {ns, ns});
      }
      wanted.back() = ns;
    }
    EXPECT_EQ(spans_of(sorted), wanted);
    EXPECT_EQ(spans_of(times), wanted);
  }
}

TEST(TimeSpans, AreNotKnownWhereThereAreTooMany) {
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i <= TimeSpans::most_spans; ++i) {
    times.push_back(-static_cast<std::int64_t>(i) * (TimeSpans::pause_ns + 1));
  }
  EXPECT_TRUE(spans_of(times).empty());
  times.pop_back();
  EXPECT_EQ(spans_of(times).size(), 2 * TimeSpans::most_spans);
}

}  // namespace
}  // namespace traceagent::tools
