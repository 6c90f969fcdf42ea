// Which window's file the device's work is in.

#include <gtest/gtest.h>

#include "tests/unit/drain/written_device_file.hpp"

namespace traceagent::drain {
namespace {

class DeviceWindowsTest : public WrittenDeviceFile {};

TEST_F(DeviceWindowsTest, WorkLaunchedBeforeTheWindowIsKeptAndMarked) {
  crafted.api(thread, "cudaLaunchKernel", 50'000, 51'000, 1);
  crafted.kernel("old", 80'000, 120'000, 1);
  crafted.kernel("older", 60'000, 70'000, 2);  // not in the window at all
  write(window());
  const std::string old = line({"\"cat\":\"kernel\""});
  EXPECT_NE(old.find("\"name\":\"old\""), std::string::npos) << old;
  EXPECT_NE(old.find("{\"ts\":0.000,\"dur\":40.000,"), std::string::npos) << old;
  EXPECT_NE(old.find("\"launched before the window\":true"), std::string::npos) << old;
  EXPECT_TRUE(lines({"\"ph\":\"s\""}).empty());
  EXPECT_NE(text.find("\"baseTimeNanoseconds\": " + std::to_string(epoch_ns + 80'000)),
            std::string::npos)
      << "no time is negative";
  EXPECT_NE(text.find("\"work_without_launch\": {\"launched_before_window\": 1}"),
            std::string::npos);
}

TEST_F(DeviceWindowsTest, WorkWithoutAnyApiRecordSaysSo) {
  crafted.api(thread, "cudaLaunchKernel", 105'000, 106'000, 1);
  crafted.kernel("lost", 110'000, 120'000, 77);
  write(window());
  EXPECT_NE(line({"\"cat\":\"kernel\""}).find("\"launch\":\"not seen\""), std::string::npos);
}

// Two windows without a gap: work of either is in one file, that of its launch.

TEST_F(DeviceWindowsTest, WindowsBackToBackShareNothing) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("runs over the edge", 190'000, 230'000, 1);
  crafted.launch(thread, 198 * us, 199 * us + 500);
  crafted.api(thread, "cudaLaunchKernel", 198'100, 199'300, 2);
  crafted.kernel("runs in the next", 230'000, 240'000, 2);
  crafted.launch(thread, 210 * us, 215 * us);
  crafted.api(thread, "cudaLaunchKernel", 211'000, 214'000, 3);
  crafted.kernel("the next's own", 240'000, 250'000, 3);
  crafted.kernel("of nobody", 195'000, 205'000, 99, 8);
  ring::Window& first = window(100, 200, 1);
  ring::Window& second = window(200, 300, 2);
  write(first);
  EXPECT_EQ(lines({"\"cat\":\"kernel\""}).size(), 3u) << text;
  EXPECT_EQ(lines({"\"name\":\"the next's own\""}).size(), 0u);
  write(second);
  EXPECT_EQ(lines({"\"cat\":\"kernel\""}).size(), 1u) << text;
  EXPECT_EQ(lines({"\"name\":\"the next's own\""}).size(), 1u);
}

// In the merged file both windows' work is on one lane.

TEST_F(DeviceWindowsTest, WorkOfAnotherWindowKeepsItsPlace) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("first", 190'000, 230'000, 1);
  crafted.launch(thread, 210 * us, 215 * us);
  crafted.api(thread, "cudaLaunchKernel", 211'000, 214'000, 2);
  crafted.kernel("second", 220'000, 240'000, 2);
  window(100, 200, 1).state = ring::WindowState::written;
  write(window(200, 300, 2));
  EXPECT_NE(line({"\"name\":\"second\""}).find("\"tid\":16005007,"), std::string::npos) << text;
}

}  // namespace
}  // namespace traceagent::drain
