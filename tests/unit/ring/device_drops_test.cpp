// Records of the device that found no room: whose loss they are.

#include "agent/ring/device_drops.hpp"

#include <gtest/gtest.h>

#include "agent/event/ticks.hpp"
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
    for (int i = 0; i < records; ++i) count_work(epoch_ns + at_ns, 0);
  }
  // Each of a buffer of its own.
  void count_work(std::int64_t end_ns, std::uint32_t correlation) {
    DeviceDrops(memory_.ring()).count_work(end_ns, correlation);
  }
  void count_call(std::int64_t start_ns, std::uint32_t correlation) {
    DeviceDrops(memory_.ring()).count_call(start_ns, correlation);
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
  count_call(epoch_ns + 2500, 78);
  count_call(epoch_ns + 2400, 77);
  EXPECT_EQ(lost(first()), 3u);
  count_work(epoch_ns + 2600, 77);
  EXPECT_EQ(lost(first()), 3u) << "launched after it";
  count_work(epoch_ns + 2600, 76);
  count_call(epoch_ns + 1500, 70);
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

// Times that cannot be while the clock was not set: the next file's.
TEST_F(DeviceDropsTest, OfAClockThatWasSetAreForTheNextFile) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  header().device.recording_since_ns = epoch_ns;
  // From now on, which is far behind the cycles.
  lose(500, 1);
  EXPECT_FALSE(has_lost_device_records(memory_.ring()));
  const auto now_ns = static_cast<std::int64_t>(event::read_ticks());
  lose(now_ns + hour_ns, 2);
  lose(-hour_ns, 3);
  EXPECT_EQ(memory_.dropped(DropCause::device_ring_full), 5u);
}

TEST_F(DeviceDropsTest, OfAnyTimeDoNoHarm) {
  for (const std::int64_t at_ns : {INT64_MIN, std::int64_t{-1}, std::int64_t{0}, INT64_MAX}) {
    count_work(at_ns, 1);
    count_call(at_ns, 1);
  }
  const std::uint64_t beyond_now = 2;
  EXPECT_EQ(memory_.dropped(DropCause::device_ring_full), beyond_now);
  header().nominal_ns_per_tick = 0;
  lose(1500, 1);
  EXPECT_EQ(memory_.dropped(DropCause::device_ring_full), beyond_now + 1)
      << "without a clock: the next file's";
}

}  // namespace
}  // namespace traceagent::ring
