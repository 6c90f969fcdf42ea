// What a file says of launches without work goes by streams: captures are theirs, and so is order.

#include <gtest/gtest.h>

#include "tests/unit/drain/written_device_file.hpp"

namespace traceagent::drain {
namespace {

class DeviceStreamsTest : public WrittenDeviceFile {
 protected:
  // On its default stream.
  Record& launch_by(std::uint32_t by, std::int64_t at, std::uint32_t id) {
    const auto begin = static_cast<std::uint64_t>(at) * us;
    crafted.api(by, "cudaLaunchKernel", at * 1000 + 1000, at * 1000 + 4000, id);
    return crafted.launch(by, begin, begin + 5 * us);
  }
};

// PyTorch's autograd launches on a thread of its own what another one captures.
TEST_F(DeviceStreamsTest, AnotherThreadMayLaunchIntoACaptureAndEndIt) {
  constexpr std::uint32_t other = thread + 1;
  crafted.call(thread, Function::cudaStreamBeginCapture, Layout::stream, 105 * us, 106 * us)
      .args[3] = 0x10;
  launch_by(other, 110, 1).args[3] = 0x10;
  launch_by(other, 116, 2).args[3] = 0x20;
  crafted.call(other, Function::cudaStreamEndCapture, Layout::stream, 122 * us, 123 * us).args[3] =
      0x10;
  launch_by(thread, 130, 3).args[3] = 0x10;
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 2, \"no_work\": 1}"),
            std::string::npos)
      << text;
}

TEST_F(DeviceStreamsTest, CapturesAtOnceEndEachForItself) {
  for (const std::uint64_t stream : {0x10, 0x20}) {
    crafted
        .call(thread, Function::cudaStreamBeginCapture, Layout::stream, (90 + stream) * us,
              (91 + stream) * us)
        .args[3] = stream;
  }
  for (const std::uint64_t stream : {0x10, 0x20}) {
    crafted
        .call(thread, Function::cudaStreamEndCapture, Layout::stream, (120 + stream) * us,
              (121 + stream) * us)
        .args[3] = stream;
  }
  crafted.launch(thread, 140 * us, 145 * us).args[3] = 0x20;
  crafted.launch(thread, 160 * us, 165 * us).args[3] = 0x20;
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 1, \"no_work\": 1}"),
            std::string::npos)
      << text;
}

// Handle 0 is one stream on each device, and each thread may have its own.
TEST_F(DeviceStreamsTest, WorkOfAnotherThreadsDefaultStreamDoesNotMakeALaunchOverdue) {
  launch_by(thread, 110, 1);
  launch_by(thread + 1, 120, 2);
  crafted.kernel("of another thread", 170'000, 180'000, 2);
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 1}"), std::string::npos) << text;
}

TEST_F(DeviceStreamsTest, WorkOfAnotherDevicesDefaultStreamDoesNotMakeALaunchOverdue) {
  launch_by(thread, 110, 1);
  launch_by(thread, 120, 2);
  crafted.work({DeviceKind::kernel, 1, 2, 7, crafted.name("of another device"), epoch_ns + 130'000,
                epoch_ns + 140'000, 2, 0, 0});
  crafted.kernel("of the device", 107'000, 109'000, 9);
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 1}"), std::string::npos) << text;
}

TEST_F(DeviceStreamsTest, AHandleOfSeveralStreamsDoesNotMakeALaunchOverdue) {
  for (const std::uint32_t id : {1u, 2u, 3u}) {
    launch_by(thread, 110 + 10 * id, id).args[3] = 0x10;
  }
  crafted.kernel("of the first stream", 126'000, 128'000, 1, 13);
  crafted.kernel("of the next one", 150'000, 160'000, 3, 14);
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 1}"), std::string::npos) << text;
}

}  // namespace
}  // namespace traceagent::drain
