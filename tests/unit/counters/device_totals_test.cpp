#include "agent/counters/device_totals.hpp"

#include <gtest/gtest.h>

namespace traceagent::counters {
namespace {

using Bytes = DeviceTotals::Bytes;

class DeviceTotalsTest : public testing::Test {
 protected:
  void round(std::initializer_list<std::pair<const char*, Bytes>> devices) {
    totals.begin_round();
    for (const auto& [name, bytes] : devices) {
      totals.add(name, bytes, [](std::string_view of) {
        if (of.starts_with("eth")) return DeviceClass::device;
        return of.starts_with("veth") ? DeviceClass::interface : DeviceClass::none;
      });
    }
  }
  DeviceTotals totals;
};

TEST_F(DeviceTotalsTest, GrowByWhatDevicesDid) {
  round({{"eth0", {1000, 10}}, {"eth1", {5, 5}}, {"bridge", {7, 7}}, {"veth0", {1, 1}}});
  EXPECT_EQ(totals.totals(), (Bytes{0, 0}));
  round({{"eth0", {1100, 10}}, {"eth1", {6, 8}}, {"bridge", {99, 99}}, {"veth0", {9, 9}}});
  EXPECT_TRUE(totals.is_good());
  EXPECT_EQ(totals.totals(), (Bytes{101, 3}));
}

TEST_F(DeviceTotalsTest, NewDevicesBringNothingOfTheirPast) {
  round({{"eth0", {1000, 10}}});
  round({{"eth0", {1001, 10}}, {"eth1", {1'000'000'000, 1}}});
  EXPECT_TRUE(totals.is_good());
  EXPECT_EQ(totals.totals(), (Bytes{1, 0}));
  round({{"eth1", {1'000'000'002, 1}}});  // the other one is gone
  EXPECT_TRUE(totals.is_good());
  EXPECT_EQ(totals.totals(), (Bytes{3, 0}));
}

TEST_F(DeviceTotalsTest, AnotherDeviceOfANameThatHasGoneBringsNothingOfItsPast) {
  round({{"eth0", {1000, 1000}}});
  round({{"eth0", {1010, 1010}}});
  round({});
  EXPECT_TRUE(totals.has_any()) << "it received nothing, which is known";
  round({{"eth0", {5'000'000'000, 5}}});
  EXPECT_TRUE(totals.is_good());
  EXPECT_EQ(totals.totals(), (Bytes{10, 10}));
  round({{"eth0", {5'000'000'001, 5}}});
  EXPECT_EQ(totals.totals(), (Bytes{11, 10}));
}

TEST_F(DeviceTotalsTest, ManyThatCameAndWentLeaveRoomForNewOnes) {
  for (std::size_t i = 0; i < 2 * DeviceTotals::most_devices; ++i) {
    const std::string name = "veth" + std::to_string(i);
    round({{"eth0", {0, 0}}, {name.c_str(), {5, 5}}});
    ASSERT_FALSE(totals.leaves_out()) << i;
  }
  round({{"eth0", {0, 0}}, {"eth1", {1, 1}}});
  round({{"eth0", {0, 0}}, {"eth1", {1001, 2}}});
  EXPECT_EQ(totals.totals(), (Bytes{1000, 1}));
}

TEST_F(DeviceTotalsTest, MoreThanAreFollowedAreToldOfWhileTheyAreThere) {
  totals.begin_round();
  for (std::size_t i = 0; i <= DeviceTotals::most_devices; ++i) {
    totals.add("eth" + std::to_string(i), {0, 0}, [](auto) { return DeviceClass::device; });
  }
  EXPECT_TRUE(totals.leaves_out());
  round({{"eth0", {0, 0}}});
  EXPECT_FALSE(totals.leaves_out());
}

TEST_F(DeviceTotalsTest, ACounterThatWrapsSpoilsItsRoundAlone) {
  round({{"eth0", {4'294'967'290, 0}}});
  round({{"eth0", {10, 0}}});
  EXPECT_FALSE(totals.is_good());
  round({{"eth0", {15, 0}}});
  EXPECT_TRUE(totals.is_good());
  EXPECT_EQ(totals.totals(), (Bytes{5, 0}));
}

TEST_F(DeviceTotalsTest, InAContainerItsInterfaces) {
  round({{"veth0", {100, 100}}, {"bridge", {100, 100}}});
  EXPECT_TRUE(totals.has_any());
  round({{"veth0", {150, 101}}, {"bridge", {900, 900}}});
  EXPECT_EQ(totals.totals(), (Bytes{50, 1}));
}

TEST_F(DeviceTotalsTest, NothingCounts) {
  round({{"bridge", {1, 1}}});
  EXPECT_FALSE(totals.has_any());
}

}  // namespace
}  // namespace traceagent::counters
