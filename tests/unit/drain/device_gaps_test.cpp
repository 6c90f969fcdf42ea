// What a file says of launches without work and work without a launch.

#include <gtest/gtest.h>

#include "tests/unit/drain/written_device_file.hpp"

namespace traceagent::drain {
namespace {

class DeviceGapsTest : public WrittenDeviceFile {
 protected:
  // A launch whose work is not there, and work whose launch is not.
  void launch_beside_unknown_work() {
    crafted.launch(thread, 110 * us, 115 * us);
    crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
    crafted.kernel("whose call nobody knows", 120'000, 130'000, 9);
  }
};

TEST_F(DeviceGapsTest, WorkThatHasNotArrivedIsCountedLate) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("done", 120'000, 130'000, 1);
  crafted.launch(thread, 150 * us, 155 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 151'000, 154'000, 2);
  write(window());
  EXPECT_NE(text.find("\"device_late\": 1"), std::string::npos) << text;
  EXPECT_NE(text.find("\"launches\": 2, \"work\": 1, \"launches_without_work\": {\"late\": 1}"),
            std::string::npos)
      << text;
}

// In a damaged ring: differences with it were no numbers, and the whole file's times began there.
TEST_F(DeviceGapsTest, WorkWithoutATimeHasNotArrived) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("never", 120'000, 130'000, 1).args[0] = std::uint64_t{1} << 63;
  write(window());
  EXPECT_EQ(text.find("\"never\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"device_late\": 1"), std::string::npos) << text;
}

// As after a kill: what CUPTI held went with the process.

TEST_F(DeviceGapsTest, CallsThatCuptiHadNotHandedOverAreLateAndNoRiddle) {
  crafted.ring().header().device.delivered_until_ns.store(epoch_ns + 130'000);
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.launch(thread, 150 * us, 155 * us);
  crafted.launch(thread, 160 * us, 165 * us);
  write(window());
  EXPECT_NE(text.find("\"launches\": 3, \"work\": 0, \"launches_without_work\": {\"late\": 2, "
                      "\"unknown\": 1}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\"dropped\": {\"device_late\": 2}"), std::string::npos) << text;
}

TEST_F(DeviceGapsTest, WorkWithASmallerIdThanTheWindowsCallsWasLaunchedBefore) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 50);
  crafted.kernel("new", 120'000, 130'000, 50);
  crafted.kernel("old", 116'000, 119'000, 49, 8);
  crafted.kernel("of nobody", 116'000, 119'000, 51, 9);
  ring::Window& own = window();
  write(own);
  EXPECT_NE(line({"\"name\":\"old\""}).find("\"launched before the window\":true"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\"work_without_launch\": {\"launched_before_window\": 1, \"unknown\": 1}"),
            std::string::npos)
      << text;
}

TEST_F(DeviceGapsTest, AFileThatFailsTellsNothingOfLateWork) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 50);
  ring::Window& own = window();
  RankFileOptions no_room;
  no_room.most_bytes = 100;
  ASSERT_NE(write_rank_file(crafted.ring(), own, no_room).problem, "");
  write(own);
  EXPECT_NE(text.find("\"dropped\": {\"device_late\": 1}"), std::string::npos) << text;
  EXPECT_EQ(ring::last_correlation_of(crafted.ring(), own).load(), 50u);
}

// CUPTI before CUDA 13.1 Update 1, from its second use on: an arrow from a call that has nothing to
// do with it would be a lie.
TEST_F(DeviceGapsTest, AGraphsWorkHasNoArrowFromACallThatLaunchesNoGraph) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 50);
  crafted.call(thread, api::Function::cudaGraphLaunch, event::Layout::graph, 120 * us, 125 * us);
  crafted.api(thread, "cudaGraphLaunch", 121'000, 124'000, 51);
  crafted.kernel("own", 130'000, 140'000, 50);
  const std::uint32_t graph = crafted.name("\"graph id\":3,\"graph node id\":1");
  crafted.kernel("misled", 141'000, 150'000, 50).args[3] = 1;
  crafted.work({event::DeviceKind::copy, 0, 1, 7, crafted.name("Memcpy misled"), epoch_ns + 151'000,
                epoch_ns + 160'000, 50, graph, 4});
  write(window());
  EXPECT_EQ(lines({"\"ph\":\"f\""}).size(), 1u) << text;
  EXPECT_NE(text.find("\"launches\": 2, \"work\": 3, \"launches_without_work\": "
                      "{\"wrong_call\": 1}, \"work_without_launch\": {\"wrong_call\": 2}"),
            std::string::npos)
      << text;
  EXPECT_EQ(text.find("\"device_late\""), std::string::npos) << text;
  EXPECT_EQ(line({"\"name\":\"misled\""}).find("launched before"), std::string::npos) << text;
}

TEST_F(DeviceGapsTest, AGraphsWorkIsTiedToItsGraphLaunch) {
  crafted.call(thread, api::Function::cudaGraphLaunch, event::Layout::graph, 120 * us, 125 * us);
  crafted.api(thread, "cudaGraphLaunch", 121'000, 124'000, 51);
  crafted.api(thread, "cuGraphLaunch", 122'000, 123'000, 51);
  crafted.kernel("node", 141'000, 150'000, 51).args[3] = 1;
  crafted.work({event::DeviceKind::copy, 0, 1, 7, crafted.name("Memcpy node"), epoch_ns + 151'000,
                epoch_ns + 160'000, 51, crafted.name("\"graph id\":3,\"graph node id\":1"), 4});
  write(window());
  EXPECT_EQ(lines({"\"ph\":\"f\""}).size(), 2u) << text;
  EXPECT_NE(text.find("\"work_without_launch\": {}"), std::string::npos) << text;
}

// It was given up: what came late of it must not be taken off what the next file has to tell.
TEST_F(DeviceGapsTest, AWindowThatIsGivenUpLeavesTheNextOnesLossesWhole) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 50);
  crafted.launch(thread, 210 * us, 215 * us).args[3] = 0x20;
  crafted.api(thread, "cudaLaunchKernel", 211'000, 214'000, 51);
  ring::Window& first = window(100, 200, 1);
  ring::Window& second = window(200, 300, 2);
  RankFileOptions no_room;
  no_room.most_bytes = 100;
  ASSERT_NE(write_rank_file(crafted.ring(), first, no_room).problem, "");
  first.state = ring::WindowState::written;
  write(second);
  EXPECT_NE(text.find("\"dropped\": {\"device_late\": 1}"), std::string::npos) << text;
}

// Else it would be in the merged file, and counted as lost there too.

TEST_F(DeviceGapsTest, WhatWasCountedLateIsInNoLaterFile) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;
  Record& told = crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 50);
  ring::Window& first = window(100, 200, 1);
  ring::Window& second = window(200, 300, 2);
  write(first);
  EXPECT_NE(text.find("\"dropped\": {\"device_late\": 1}"), std::string::npos) << text;
  told.begin_ticks.store(0);  // given back
  crafted.kernel("long", 210'000, 290'000, 50);
  crafted.launch(thread, 210 * us, 215 * us).args[3] = 0x20;
  crafted.api(thread, "cudaLaunchKernel", 211'000, 214'000, 53);
  crafted.kernel("own", 220'000, 230'000, 53, 8);
  crafted.kernel("of the warm-up", 216'000, 219'000, 52, 9);
  write(second);
  EXPECT_TRUE(lines({"\"name\":\"long\""}).empty()) << text;
  EXPECT_NE(line({"of the warm-up"}).find("\"launched before the window\":true"),
            std::string::npos);
  EXPECT_NE(text.find("\"launches\": 1, \"work\": 2, \"launches_without_work\": {}, "
                      "\"work_without_launch\": {\"launched_before_window\": 1}"),
            std::string::npos)
      << text;
}

// The first window's file failed, and is written after the second's: each has its own.
TEST_F(DeviceGapsTest, AFileThatIsWrittenLateHasItsOwnDeviceWork) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 50);
  crafted.kernel("early", 150'000, 160'000, 50);
  crafted.kernel("of the warm-up", 116'000, 119'000, 49, 9);  // its call is given back
  ring::Window& first = window(100, 200, 1);
  crafted.launch(thread, 210 * us, 215 * us).args[3] = 0x20;
  Record& told = crafted.api(thread, "cudaLaunchKernel", 211'000, 214'000, 60);
  ring::Window& second = window(200, 300, 2);
  ring::Window& third = window(300, 400, 3);
  write(second);
  EXPECT_NE(text.find("\"dropped\": {\"device_late\": 1}"), std::string::npos) << text;
  write(first);
  EXPECT_EQ(lines({"\"cat\":\"kernel\""}).size(), 2u) << "two that no file tells of: " << text;
  told.begin_ticks.store(0);  // given back
  crafted.kernel("told of as late", 310'000, 320'000, 60);
  write(third);
  EXPECT_TRUE(lines({"told of as late"}).empty()) << text;
}

TEST_F(DeviceGapsTest, OverwrittenRecordsExplainWhatDoesNotMatch) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("whose call is gone", 120'000, 130'000, 9);
  ring::Window& own = window();
  own.overwritten = 1023;
  crafted.ring().count_drop(ring::DropCause::overwritten, 1023);
  write(own);
  EXPECT_NE(text.find("\"launches_without_work\": {\"lost\": 1}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"work_without_launch\": {\"call_lost\": 1}"), std::string::npos) << text;
}

// What could not be timed was a piece of work: the call of another one is not lost by it.
TEST_F(DeviceGapsTest, UntimedWorkExplainsALaunchAndNoCall) {
  launch_beside_unknown_work();
  ring::Window& own = window();
  own.dropped_at_end[static_cast<std::size_t>(ring::DropCause::device_untimed)] = 1;
  crafted.ring().count_drop(ring::DropCause::device_untimed, 1);
  write(own);
  EXPECT_NE(text.find("\"launches_without_work\": {\"lost\": 1}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"work_without_launch\": {\"unknown\": 1}"), std::string::npos) << text;
}

TEST_F(DeviceGapsTest, ALaunchWhoseStreamHasGoneOnIsNotLate) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;  // captured into a graph
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.launch(thread, 150 * us, 155 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 151'000, 154'000, 2);
  crafted.kernel("done", 160'000, 170'000, 2);
  write(window());
  EXPECT_EQ(text.find("device_late"), std::string::npos);
  EXPECT_NE(text.find("\"launches_without_work\": {\"unknown\": 1}"), std::string::npos) << text;
}

TEST_F(DeviceGapsTest, WhatIsCapturedHasNoWorkOfItsOwn) {
  crafted.call(thread, Function::cudaStreamBeginCapture, Layout::stream, 105 * us, 106 * us);
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.call(thread, Function::cudaStreamEndCapture, Layout::stream, 116 * us, 117 * us);
  crafted.launch(thread, 120 * us, 125 * us);
  crafted.api(thread, "cudaLaunchKernel", 121'000, 124'000, 2);
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 1, \"no_work\": 1}"),
            std::string::npos)
      << text;
}

TEST_F(DeviceGapsTest, ACaptureIsKnownFromCuptiWhereCallsOfStreamsAreLeftOut) {
  crafted.api(thread, "cudaStreamBeginCapture", 105'000, 106'000, 1);
  crafted.api(thread, "cuStreamBeginCapture_v2", 105'200, 105'800, 2);
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 3);
  crafted.api(thread, "cudaStreamEndCapture", 116'000, 117'000, 4);
  crafted.launch(thread, 120 * us, 125 * us);
  crafted.api(thread, "cudaLaunchKernel", 121'000, 124'000, 5);
  // Of this one CUPTI has told nothing.
  crafted.api(thread, "cudaStreamBeginCapture", 130'000, 131'000, 6);
  crafted.launch(thread, 132 * us, 133 * us);
  crafted.api(thread, "cudaStreamEndCapture", 134'000, 135'000, 7);
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 1, \"no_work\": 2}"),
            std::string::npos)
      << text;
}

TEST_F(DeviceGapsTest, LossesOfTheDeviceSideAreTheWindowsThatWritesThem) {
  auto& dropped =
      crafted.ring().header().dropped[static_cast<std::size_t>(ring::DropCause::device_dropped)];
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  ring::Window& first = window(100, 200, 1);
  ring::Window& second = window(200, 300, 2);
  dropped = 5;  // told after the window's end
  write(first);
  EXPECT_NE(text.find("\"dropped\": {\"device_dropped\": 5}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"launches_without_work\": {\"lost\": 1}"), std::string::npos) << text;
  dropped = 7;
  write(second);
  EXPECT_NE(text.find("\"dropped\": {\"device_dropped\": 2}"), std::string::npos) << text;
}

TEST_F(DeviceGapsTest, WhatFoundNoRoomIsTheWindowsThatItWasIn) {
  ring::Window& first = window(100, 200, 1);
  ring::Window& second = window(200, 300, 2);
  for (ring::Window* const each : {&first, &second}) each->device_full_told = ring::not_told;
  first.device_full = 5;
  second.device_full = 7;  // before the first one's file is written
  write(first);
  EXPECT_NE(text.find("\"dropped\": {\"device_ring_full\": 5}"), std::string::npos) << text;
  first.file_name = crafted.name("its file");
  first.state = ring::WindowState::written;
  first.device_full = 8;  // told when it was being written
  write(second);
  EXPECT_NE(text.find("\"dropped\": {\"device_ring_full\": 10}"), std::string::npos) << text;
}

// Of which window the others were is not known for sure: no riddle.
TEST_F(DeviceGapsTest, ALaunchWithoutWorkMayBeAmongTheLossesOfOtherWindows) {
  crafted.ring().header().device.delivered_until_ns.store(epoch_ns + 190'000);
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.launch(thread, 150 * us, 155 * us);
  crafted.kernel("whose call nobody knows", 160'000, 170'000, 9);
  ring::Window& own = window();
  own.device_full_told = ring::not_told;
  own.device_full = 1;
  crafted.ring().header().windows[7].device_full = 40;
  write(own);
  EXPECT_NE(text.find("\"launches_without_work\": {\"lost\": 1, \"perhaps_lost\": 1}"),
            std::string::npos)
      << text;
}

// What found no room before the window is counted nowhere.
TEST_F(DeviceGapsTest, InAFullRingACallThatIsNotSeenWasLost) {
  launch_beside_unknown_work();
  ring::Window& own = window();
  own.dropped_at_end[static_cast<std::size_t>(ring::DropCause::ring_full)] = 162;
  write(own);
  EXPECT_NE(text.find("\"work_without_launch\": {\"call_lost\": 1}"), std::string::npos) << text;
}

TEST_F(DeviceGapsTest, LaunchesBeforeCuptiWasOn) {
  crafted.ring().header().device.recording_since_ns.store(epoch_ns + 130'000);
  crafted.launch(thread, 110 * us, 115 * us);
  Record& empty = crafted.call(thread, Function::cudaMemcpyAsync, Layout::copy, 140 * us, 141 * us);
  empty.args[2] = 0;
  crafted.launch(thread, 150 * us, 155 * us).result = 98;
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"before_recording\": 1, \"no_work\": 1}"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\"recording_since_ns\": " + std::to_string(epoch_ns + 130'000)),
            std::string::npos);
}

// Killed, or at the end of its patience, before the first flush had returned.
TEST_F(DeviceGapsTest, CallsAreLateWhereNothingWasHandedOverYet) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.launch(thread, 150 * us, 155 * us);
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"late\": 2}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"dropped\": {\"device_late\": 2}"), std::string::npos) << text;
}

// Nothing was lost on the way: it was never recorded.

TEST_F(DeviceGapsTest, LaunchesWhileCuptiIsOffAgainAreNotLate) {
  crafted.ring().header().device.recording_until_ns.store(epoch_ns + 120'000);
  crafted.ring().header().device.delivered_until_ns.store(epoch_ns + 120'000);
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("in time", 116'000, 118'000, 1);
  crafted.launch(thread, 121 * us, 125 * us);
  crafted.api(thread, "cudaLaunchKernel", 122'000, 124'000, 2);
  crafted.launch(thread, 150 * us, 155 * us);
  write(window());
  EXPECT_NE(text.find("\"launches_without_work\": {\"after_recording\": 2}"), std::string::npos)
      << text;
  EXPECT_EQ(text.find("device_late"), std::string::npos) << text;
}

}  // namespace
}  // namespace traceagent::drain
