#include "agent/drain/launch_match.hpp"

#include <gtest/gtest.h>

#include <random>

#include "agent/drain/clock.hpp"
#include "tests/unit/drain/crafted_device.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::Layout;
using event::Record;

constexpr std::uint32_t thread = 500;

class LaunchMatchTest : public testing::Test {
 protected:
  void match(std::uint64_t begin = 1000, std::uint64_t end = 1'000'000) {
    ring::Window& window = crafted.window(begin, end, 1, 1);
    const event::TickConverter clock = clock_of(crafted.ring());
    const WindowEdges edges(crafted.ring(), clock, window);
    threads = collect(crafted.ring(), begin, end);
    launches = match_launches(crafted.ring(), collect_device(crafted.ring(), begin), edges, clock,
                              threads);
  }
  const Launch& of(const Record& api) const {
    for (const Launch& launch : launches) {
      if (launch.api == &api) return launch;
    }
    ADD_FAILURE() << "no such launch";
    return launches.front();
  }
  const Record* nccl_of(const Record& api) const {
    const Launch& launch = of(api);
    return launch.nccl == no_index ? nullptr : threads[launch.thread].records[launch.nccl];
  }

  CraftedDevice crafted;
  std::vector<ThreadEvents> threads;
  std::vector<Launch> launches;
};

TEST_F(LaunchMatchTest, TheCallThatEnclosesItsMiddleOnItsThread) {
  crafted.launch(thread, 2000, 3000);
  const Record& second = crafted.launch(thread, 3100, 4000);
  crafted.launch(thread, 4100, 5000);
  crafted.launch(501, 3000, 4200);
  const Record& api = crafted.api(thread, "cudaLaunchKernel", 3200, 3900, 1);
  match();
  EXPECT_EQ(of(api).host_record, &second);
  EXPECT_EQ(threads[of(api).thread].records.at(of(api).host), &second);
  EXPECT_EQ(of(api).when, When::in_window);
}

// Back to back, as a loop launches, and the two clocks apart by some 100 ns.
TEST_F(LaunchMatchTest, ClocksThatDifferByLessThanACall) {
  for (const std::int64_t error : {-390, -200, -37, 0, 45, 300, 390}) {
    CraftedDevice fresh;
    std::vector<std::pair<const Record*, const Record*>> expected;
    for (std::uint32_t i = 0; i < 200; ++i) {
      const std::uint64_t at = 10'000 + 1000 * i;
      const Record& host = fresh.launch(thread, at, at + 950);
      const auto start = static_cast<std::int64_t>(at) + 60 + error;
      expected.emplace_back(&fresh.api(thread, "cudaLaunchKernel", start, start + 800, i + 1),
                            &host);
    }
    ring::Window& window = fresh.window(1000, 1'000'000, 1, 1);
    const event::TickConverter clock = clock_of(fresh.ring());
    const WindowEdges edges(fresh.ring(), clock, window);
    auto events = collect(fresh.ring(), 1000, 1'000'000);
    const auto found =
        match_launches(fresh.ring(), collect_device(fresh.ring(), 1000), edges, clock, events);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].api, expected[i].first) << "error " << error;
      EXPECT_EQ(found[i].host_record, expected[i].second) << "error " << error << ", call " << i;
    }
  }
}

TEST_F(LaunchMatchTest, ShortCallsGoToTheNeighbourOfTheirName) {
  const Record& copy = crafted.call(thread, Function::cudaMemcpyAsync, Layout::copy, 2000, 2200);
  const Record& launch = crafted.launch(thread, 2300, 2500);
  const Record& api_copy = crafted.api(thread, "cudaMemcpyAsync", 2240, 2260, 1);
  const Record& api_launch = crafted.api(thread, "cudaLaunchKernel", 2540, 2560, 2);
  match();
  EXPECT_EQ(of(api_copy).host_record, &copy);
  EXPECT_EQ(of(api_launch).host_record, &launch);
}

TEST_F(LaunchMatchTest, ANeighbourThatHasItsOwnIsNotTaken) {
  const Record& launch = crafted.launch(thread, 2000, 3000);
  const Record& own = crafted.api(thread, "cudaLaunchKernel", 2100, 2900, 1);
  const Record& other = crafted.api(thread, "cudaLaunchKernel", 3300, 3500, 2);  // went round us
  match();
  EXPECT_EQ(of(own).host_record, &launch);
  EXPECT_EQ(of(other).host_record, nullptr);
}

TEST_F(LaunchMatchTest, RangesAndNcclCallsAreNoLaunches) {
  crafted.call(thread, Function::nvtx_range, Layout::range, 1500, 9000);
  const Record& group = crafted.call(thread, Function::ncclGroupEnd, Layout::none, 2000, 8000);
  const Record& api = crafted.api(thread, "cuLaunchKernelEx", 3000, 3500, 1);
  match();
  EXPECT_EQ(of(api).host_record, nullptr);
  EXPECT_EQ(nccl_of(api), &group);
  EXPECT_EQ(of(api).when, When::in_window);
}

TEST_F(LaunchMatchTest, TheOutermostNcclCallIsTheOneThatLaunches) {
  const Record& outer = crafted.call(thread, Function::ncclGroupEnd, Layout::none, 2000, 8000);
  crafted.call(thread, Function::ncclAllReduce, Layout::collective, 2500, 7000);
  const Record& launch = crafted.launch(thread, 2900, 3600);
  const Record& api = crafted.api(thread, "cuLaunchKernelEx", 3000, 3500, 1);
  match();
  EXPECT_EQ(nccl_of(api), &outer);
  EXPECT_EQ(of(api).host_record, &launch);
}

// A static runtime's call around the record of the driver door, and the driver's call in it.
TEST_F(LaunchMatchTest, CallsWithinCallsAreOne) {
  const Record& door = crafted.launch(thread, 3500, 3900);
  const Record& runtime = crafted.api(thread, "cudaLaunchKernelExC", 2000, 4000, 1);
  const Record& driver = crafted.api(thread, "cuLaunchKernelEx", 3600, 3800, 1);
  match();
  EXPECT_EQ(of(runtime).host_record, &door);
  EXPECT_EQ(of(runtime).outer, no_index);
  EXPECT_EQ(
      launches[outermost(launches, static_cast<std::uint32_t>(&of(driver) - &launches[0]))].api,
      &runtime);
}

TEST_F(LaunchMatchTest, WhatOnlyCuptiSawIsFittedIntoItsLane) {
  crafted.call(thread, Function::ncclAllReduce, Layout::collective, 2000, 3000);
  crafted.call(thread, Function::ncclAllReduce, Layout::collective, 5000, 6000);
  const Record& early = crafted.api(thread, "cuLaunchKernel", 1950, 2600, 1);
  const Record& late = crafted.api(thread, "cuMemcpyAsync", 2700, 3060, 2);
  const Record& between = crafted.api(thread, "cuLaunchKernel", 3990, 5020, 3);
  match();
  EXPECT_EQ(of(early).start_ns, epoch_ns + 2000);
  EXPECT_EQ(of(early).end_ns, epoch_ns + 2600);
  EXPECT_EQ(of(late).end_ns, epoch_ns + 3000);
  EXPECT_EQ(of(between).start_ns, epoch_ns + 3990);
  EXPECT_EQ(of(between).end_ns, epoch_ns + 5000);
}

TEST_F(LaunchMatchTest, ACallOnTheEdgeBelongsToItsRecordsWindow) {
  crafted.window(500, 1000, 0, 0).state = ring::WindowState::written;
  const Record& before = crafted.launch(thread, 900, 1500);
  const Record& inside = crafted.launch(501, 1002, 1500);
  const Record& api_before = crafted.api(thread, "cudaLaunchKernel", 1010, 1400, 1);
  const Record& api_inside = crafted.api(501, "cudaLaunchKernel", 990, 1300, 2);
  match();
  EXPECT_EQ(of(api_before).host_record, &before);
  EXPECT_EQ(of(api_before).when, When::in_earlier_window);
  EXPECT_EQ(of(api_inside).host_record, &inside);
  EXPECT_EQ(of(api_inside).when, When::in_window);
}

TEST_F(LaunchMatchTest, OtherTimesAreOtherWindows) {
  crafted.window(500, 700, 0, 0).state = ring::WindowState::written;
  const Record& earlier = crafted.api(thread, "cudaLaunchKernel", 600, 650, 1);
  const Record& between = crafted.api(thread, "cudaLaunchKernel", 800, 850, 2);
  const Record& later = crafted.api(thread, "cudaLaunchKernel", 1'000'000, 1'000'100, 3);
  match();
  EXPECT_EQ(of(earlier).when, When::in_earlier_window);
  EXPECT_EQ(of(between).when, When::before);
  EXPECT_EQ(of(later).when, When::after);
}

TEST_F(LaunchMatchTest, ThreadsThatOnlyCuptiKnowsAreAdded) {
  const Record& api = crafted.api(777, "cuLaunchKernel", 3000, 3500, 1);
  match();
  EXPECT_EQ(threads.at(of(api).thread).thread_id, 777u);
}

// Numbers of a damaged ring: whatever comes out, it ends.
TEST_F(LaunchMatchTest, ADamagedRingsNumbersEnd) {
  std::mt19937_64 random(7);
  for (std::uint32_t i = 0; i < 900; ++i) {
    crafted.launch(thread, random() | 1, random());
    Record& api = crafted.api(thread, "cudaLaunchKernel", 0, 0, i);
    // As far as they are times at all: agent/drain/device_records.cpp.
    api.args[0] = random() >> 2;
    api.args[1] = random() >> 2;
  }
  match(1, UINT64_MAX);
  EXPECT_EQ(launches.size(), 900u);
}

}  // namespace
}  // namespace traceagent::drain
