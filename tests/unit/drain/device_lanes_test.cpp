// The lanes of the device's work: which there are, what they are called, what lies on them.

#include "agent/drain/device_lanes.hpp"

#include <gtest/gtest.h>

#include <set>

#include "tests/unit/drain/written_device_file.hpp"

namespace traceagent::drain {
namespace {

class DeviceLanesTest : public WrittenDeviceFile {};

TEST_F(DeviceLanesTest, NothingOverlapsOnALaneNotEvenNested) {
  crafted.kernel("a", 110'000, 150'000, 1);
  crafted.kernel("b", 120'000, 130'000, 2);
  crafted.kernel("c", 130'000, 140'000, 3);
  crafted.kernel("d", 135'000, 136'000, 4);
  crafted.kernel("e", 150'000, 160'000, 5);
  write(window());
  const std::map<std::string, const char*> tids = {
      {"a", "6005007"}, {"b", "16005007"}, {"c", "16005007"}, {"d", "26005007"}, {"e", "6005007"}};
  for (const auto& [name, tid] : tids) {
    EXPECT_EQ(lines({"\"name\":\"" + name + "\"", std::string("\"tid\":") + tid}).size(), 1u)
        << name;
  }
  EXPECT_EQ(lines({"thread_name", "26005007", "GPU 0 stream 7 overlapping"}).size(), 1u);
}

TEST_F(DeviceLanesTest, LanesSayPriorityAndContext) {
  crafted.ring().header().device.streams_json.store(
      crafted.name(R"({"0/1/7": {"priority": -5}, "0/2/9": {"priority": 0}})"));
  crafted.kernel("a", 110'000, 120'000, 1);
  crafted.work({DeviceKind::kernel, 0, 2, 9, crafted.name("b"), epoch_ns + 110'000,
                epoch_ns + 111'000, 2, 0, 0});
  crafted.work({DeviceKind::kernel, 1, 3, 7, crafted.name("c"), epoch_ns + 110'000,
                epoch_ns + 111'000, 3, 0, 0});
  write(window());
  for (const char* lane :
       {"GPU 0 stream 7 context 1 (priority -5)", "GPU 0 stream 9 context 2", "GPU 1 stream 7"}) {
    EXPECT_EQ(lines({"thread_name", std::string("\"name\":\"") + lane + "\"}"}).size(), 1u)
        << lane << text;
  }
}

TEST_F(DeviceLanesTest, AStreamsNameIsLearnedFromTheCallsThatUseIt) {
  crafted.named(0, ring::Named::stream, 0x10, "copies");
  crafted.named(1, ring::Named::stream, 0x20, "of another life", 0, 105 * us);
  crafted.named(2, ring::Named::stream, 0x20, "too late", 150 * us);
  crafted.named(3, ring::Named::stream, 0, "default");
  crafted.named(4, ring::Named::device, 0, "left");
  crafted.named(5, ring::Named::context, 0xc, "main");
  crafted.named(6, ring::Named::thread, thread, "loader");
  crafted.launch(thread, 110 * us, 112 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 110'500, 111'500, 1);
  crafted.kernel("a", 113'000, 114'000, 1, 13);
  crafted.launch(thread, 120 * us, 122 * us).args[3] = 0x20;
  crafted.api(thread, "cudaLaunchKernel", 120'500, 121'500, 2);
  crafted.kernel("b", 123'000, 124'000, 2, 14);
  crafted.launch(thread, 130 * us, 132 * us);
  crafted.api(thread, "cudaLaunchKernel", 130'500, 131'500, 3);
  crafted.kernel("c", 133'000, 134'000, 3, 7);
  crafted.kernel("ncclDevKernel_AllReduce", 135'000, 136'000, 4, 15);
  write(window());
  for (const char* lane : {R"(GPU 0 \"left\" stream 13 \"copies\")", R"(GPU 0 \"left\" stream 14)",
                           R"(GPU 0 \"left\" stream 7 \"default\")",
                           R"(GPU 0 \"left\" stream 15 (NCCL))", R"(thread 500 \"loader\")"}) {
    EXPECT_EQ(lines({"thread_name", std::string("\"name\":\"") + lane + "\"}"}).size(), 1u)
        << lane << text;
  }
  const std::string about = text.substr(text.find("\"names\""));
  for (const char* told :
       {R"("device": 0, "context": 1, "stream": 13, "name": "copies")",
        R"({"handle": "0x20", "name": "too late"})", R"("devices": {"0": "left"})",
        R"("contexts": {"0xc": "main"})", R"("threads": {"500": "loader"})"}) {
    EXPECT_NE(about.find(told), std::string::npos) << told << about;
  }
}

TEST_F(DeviceLanesTest, AGraphsStreamIsTheLaneThatHasAllOfItsWork) {
  crafted.named(0, ring::Named::stream, 0x10, "whole");
  crafted.named(1, ring::Named::stream, 0x20, "in branches");
  const auto graph = [&](std::uint64_t begin, std::uint64_t stream, std::uint32_t id) {
    crafted.call(thread, Function::cudaGraphLaunch, Layout::graph, begin, begin + 2 * us).args[3] =
        stream;
    const auto start = static_cast<std::int64_t>(begin);
    crafted.api(thread, "cudaGraphLaunch", start + 500, start + 1500, id);
  };
  graph(110 * us, 0x10, 1);
  crafted.kernel("a", 113'000, 114'000, 1, 13);
  crafted.kernel("b", 114'000, 115'000, 1, 13);
  graph(120 * us, 0x20, 2);
  crafted.kernel("c", 123'000, 124'000, 2, 14);
  crafted.kernel("d", 123'000, 124'000, 2, 15);
  write(window());
  EXPECT_EQ(lines({"thread_name", R"("GPU 0 stream 13 \"whole\"")"}).size(), 1u) << text;
  EXPECT_EQ(lines({"thread_name", R"("GPU 0 stream 14")"}).size(), 1u) << text;
  EXPECT_EQ(lines({"thread_name", R"("GPU 0 stream 15")"}).size(), 1u) << text;
}

TEST_F(DeviceLanesTest, EachThreadsWaitsHaveALane) {
  for (const std::uint32_t waiting : {500u, 501u}) {
    crafted.call(waiting, Function::cudaStreamSynchronize, Layout::synchronise, 110 * us, 160 * us);
    crafted.api(waiting, "cudaStreamSynchronize", 111'000, 159'000, waiting);
    crafted.work({DeviceKind::synchronise, 0, 1, 13, crafted.name("Stream Sync"),
                  epoch_ns + 112'000, epoch_ns + 158'000, waiting, 0, 0});
  }
  write(window());
  EXPECT_EQ(lines({"thread_name", "GPU 0 waits of thread 500\""}).size(), 1u) << text;
  EXPECT_EQ(lines({"thread_name", "GPU 0 waits of thread 501\""}).size(), 1u) << text;
  EXPECT_TRUE(lines({"overlapping"}).empty());
  EXPECT_EQ(lines({"\"cuda_sync\""}).size(), 2u);
  EXPECT_NE(text.find("\"launches\": 0, \"work\": 0,"), std::string::npos) << "waits are no work";
}

TEST(DeviceLanes, TidsStayBelowNcclsLanesAndApart) {
  std::set<std::int64_t> seen;
  for (std::uint16_t device = 0; device < 16; ++device) {
    for (const std::uint64_t stream : {0u, 7u, 13u, 4989u}) {
      for (const LaneKind kind : {LaneKind::stream, LaneKind::waits}) {
        if (kind == LaneKind::waits && stream != 0) continue;
        const std::int64_t tid = tid_of({device, device + 1u, stream, kind});
        EXPECT_TRUE(seen.insert(tid).second) << device << " " << stream;
        EXPECT_GE(tid, first_device_tid);
        EXPECT_LT(tid, 7'000'000);
      }
    }
  }
  DeviceLanes lanes;
  const std::int64_t first = lanes.place({0, 1, 7, LaneKind::stream}, 0, 10);
  const std::int64_t far = lanes.place({16, 1, 7, LaneKind::stream}, 0, 10);
  EXPECT_NE(first, far) << "a number too many goes elsewhere";
}

}  // namespace
}  // namespace traceagent::drain
