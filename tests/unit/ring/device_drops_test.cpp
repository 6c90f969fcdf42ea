// Records of the device that found no room: whose loss they are.

#include "agent/ring/device_drops.hpp"

#include <gtest/gtest.h>

#include "agent/ring/anchors.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::ring {
namespace {

constexpr std::int64_t epoch_ns = 1'767'225'600'000'000'000;

// One tick is one nanosecond. Cycles from 1000 to 2000 and from 3000 to 4000.
class DeviceDropsTest : public ::testing::Test {
 protected:
  DeviceDropsTest() {
    header().nominal_ns_per_tick = 1.0;
    add_anchor(header(), {1000, static_cast<std::uint64_t>(epoch_ns) + 1000, 25});
    open(first(), 1000, 2000);
    open(second(), 3000, 4000);
  }

  Header& header() { return memory_.ring().header(); }
  Window& first() { return header().windows[0]; }
  Window& second() { return header().windows[1]; }
  void open(Window& window, std::uint64_t begin_ticks, std::uint64_t end_ticks) {
    window.begin_ticks = begin_ticks;
    window.end_ticks = end_ticks;
    window.device_full_told = not_told;
    window.state = WindowState::closed;
  }
  void lose(std::int64_t at_ns, int records) {
    for (int i = 0; i < records; ++i) count_full_of_work(memory_.ring(), epoch_ns + at_ns, 0);
  }
  std::uint64_t lost(const Window& window) {
    return dropped_in(memory_.ring(),
                      window)[static_cast<std::size_t>(DropCause::device_ring_full)];
  }

  MemoryRing memory_{1};
};

TEST_F(DeviceDropsTest, AreOfTheWindowThatTheyWereIn) {
  lose(1500, 3);
  lose(3500, 5);
  EXPECT_EQ(lost(first()), 3u);
  EXPECT_EQ(lost(second()), 5u);
  EXPECT_EQ(memory_.dropped(DropCause::device_ring_full), 0u);
  EXPECT_TRUE(has_lost_device_records(memory_.ring()));
}

// The device is behind.
TEST_F(DeviceDropsTest, AfterAWindowAreItsOwnIfTheyAreWork) {
  lose(2500, 3);
  count_full_of_call(memory_.ring(), epoch_ns + 2500, 78);
  count_full_of_call(memory_.ring(), epoch_ns + 2400, 77);
  EXPECT_EQ(lost(first()), 3u);
  count_full_of_work(memory_.ring(), epoch_ns + 2600, 77);
  EXPECT_EQ(lost(first()), 3u) << "launched after it";
  count_full_of_work(memory_.ring(), epoch_ns + 2600, 76);
  count_full_of_call(memory_.ring(), epoch_ns + 1500, 70);
  EXPECT_EQ(lost(first()), 5u);
}

TEST_F(DeviceDropsTest, OfNoWindowAreNotMissed) {
  lose(500, 1);
  first().state = WindowState::written;
  first().file_name = 8;
  lose(2500, 1);
  first().file_name = 0;  // thrown away
  lose(1500, 1);
  EXPECT_FALSE(has_lost_device_records(memory_.ring()));
}

TEST_F(DeviceDropsTest, OfAWindowThatHasItsFileAreForTheNext) {
  first().state = WindowState::written;
  first().file_name = 8;
  lose(1500, 4);
  EXPECT_EQ(lost(first()), 0u);
  EXPECT_EQ(memory_.dropped(DropCause::device_ring_full), 4u);
}

TEST_F(DeviceDropsTest, OfAnyTimeDoNoHarm) {
  for (const std::int64_t at_ns : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) {
    count_full_of_work(memory_.ring(), at_ns, 1);
    count_full_of_call(memory_.ring(), at_ns, 1);
  }
  header().nominal_ns_per_tick = 0;
  lose(1500, 1);
  EXPECT_EQ(memory_.dropped(DropCause::device_ring_full), 1u) << "without a clock: the next file's";
}

}  // namespace
}  // namespace traceagent::ring
