// The device's work in a rank file: what is there, where, and how it is tied to its launch.

#include <gtest/gtest.h>

#include <sstream>

#include "agent/drain/device_lanes.hpp"
#include "agent/drain/rank_file.hpp"
#include "agent/drain/recover_window.hpp"
#include "tests/unit/drain/crafted_device.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::DeviceKind;
using event::Layout;
using event::Record;

constexpr std::uint32_t thread = 500;
constexpr std::uint64_t us = 1000;

class DeviceFileTest : public testing::Test {
 protected:
  std::string write(ring::Window& window) {
    const RankFileReport report = write_rank_file(crafted.ring(), window, {});
    EXPECT_EQ(report.problem, "");
    window.state.store(ring::WindowState::written);
    return text = trace::read_whole(report.path);
  }
  ring::Window& window(std::uint64_t begin = 100, std::uint64_t end = 200, std::uint64_t step = 1) {
    return crafted.window(begin * us, end * us, step, step);
  }
  // Lines that hold all of these.
  std::vector<std::string> lines(std::initializer_list<std::string> parts) const {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (line.back() == ',') line.pop_back();
      const bool fits = std::all_of(parts.begin(), parts.end(), [&](const std::string& part) {
        return line.find(part) != std::string::npos;
      });
      if (fits) found.push_back(line);
    }
    return found;
  }
  std::string line(std::initializer_list<std::string> parts) const {
    const auto found = lines(parts);
    EXPECT_EQ(found.size(), 1u) << text;
    return found.empty() ? "" : found.front();
  }
  static std::string correlation(std::uint64_t id) {
    return "\"correlation\":" + std::to_string(id);
  }
  static std::string flow(std::uint64_t id) {
    return "\"id\":" + std::to_string(id | std::uint64_t{3} << 36) + ",";
  }
  std::uint64_t place(const Record& record) const {
    return ring::correlation_of(crafted.ring(), record);
  }

  trace::ScratchFolder scratch;
  CraftedDevice crafted{scratch / "out"};
  std::string text;
};

TEST_F(DeviceFileTest, AKernelOnItsStreamsLaneWithAnArrow) {
  const Record& launch = crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 9);
  Record& kernel = crafted.kernel("_Z3addPfi", 120'001, 130'004, 9);
  kernel.args[2] |= std::uint64_t{crafted.name("\"grid\":[64,1,1],\"block\":[256,1,1]")} << 32;
  write(window());
  const std::string id = std::to_string(place(launch));
  EXPECT_EQ(line({"\"cat\":\"kernel\""}),
            "{\"ts\":20.001,\"dur\":10.003,\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add(float*, "
            "int)\",\"pid\":3,\"tid\":6005007,\"args\":{\"External id\":" +
                id + ",\"device\":0,\"context\":1,\"stream\":7,\"correlation\":" + id +
                ",\"grid\":[64,1,1],\"block\":[256,1,1]}}");
  EXPECT_EQ(line({"\"ph\":\"s\""}),
            "{\"ts\":10.000,\"ph\":\"s\",\"id\":" +
                std::to_string(place(launch) | std::uint64_t{3} << 36) +
                ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":3,\"tid\":500}");
  EXPECT_EQ(line({"\"ph\":\"f\""}),
            "{\"ts\":20.001,\"ph\":\"f\",\"id\":" +
                std::to_string(place(launch) | std::uint64_t{3} << 36) +
                ",\"cat\":\"ac2g\",\"name\":\"ac2g\",\"pid\":3,\"tid\":6005007,\"bp\":\"e\"}");
  EXPECT_EQ(line({"thread_name", "6005007"}),
            "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":3,\"tid\":6005007,\"args\":{\"name\":"
            "\"GPU 0 stream 7\"}}");
}

TEST_F(DeviceFileTest, CopiesSetsWaitsAndMemory) {
  crafted.work({DeviceKind::copy, 0, 1, 13, crafted.name("Memcpy HtoD (Pinned -> Device)"),
                epoch_ns + 110'000, epoch_ns + 114'000, 1, 0, 100'000});
  crafted.work({DeviceKind::set, 0, 1, 13, crafted.name("Memset (Device)"), epoch_ns + 115'000,
                epoch_ns + 115'000, 2, 0, 64});
  crafted.work({DeviceKind::synchronise, 0, 1, 13, crafted.name("Stream Sync"), epoch_ns + 110'000,
                epoch_ns + 118'000, 3, 0, 0});
  crafted.work({DeviceKind::memory, 0, 1, 0, crafted.name("[memory]"), epoch_ns + 116'000,
                epoch_ns + 116'000, 0, 0, 4096});
  crafted.work({DeviceKind::overhead, 0, 0, 0, crafted.name("Buffer Flush"), epoch_ns + 112'000,
                epoch_ns + 113'000, 0, 0, 0});
  write(window());
  const std::string copy = line({"\"gpu_memcpy\""});
  EXPECT_NE(copy.find("\"bytes\":100000,\"memory bandwidth (GB/s)\":25,"), std::string::npos)
      << copy;
  EXPECT_NE(copy.find("\"stream\":13,"), std::string::npos) << copy;
  const std::string set = line({"\"gpu_memset\""});
  EXPECT_NE(set.find("\"bytes\":64,\"launch\""), std::string::npos) << "no bandwidth: " << set;
  const std::string wait = line({"\"cuda_sync\""});
  EXPECT_NE(wait.find("\"stream\":-1,\"waited for stream\":13"), std::string::npos) << wait;
  EXPECT_EQ(lines({"\"ph\":\"i\"", "\"[memory]\"", "\"bytes\":4096"}).size(), 1u) << text;
  EXPECT_EQ(lines({"\"cat\":\"overhead\"", "Buffer Flush"}).size(), 1u) << text;
  for (const char* lane :
       {"GPU 0 stream 13", "GPU 0 waits", "GPU 0 memory", "GPU 0 CUPTI overhead"}) {
    EXPECT_EQ(lines({"thread_name", std::string("\"") + lane}).size(), 1u) << lane << text;
  }
}

TEST_F(DeviceFileTest, NothingOverlapsOnALaneNotEvenNested) {
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

TEST_F(DeviceFileTest, LanesSayPriorityAndContext) {
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

TEST_F(DeviceFileTest, AStreamsNameIsLearnedFromTheCallsThatUseIt) {
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

TEST_F(DeviceFileTest, AGraphsStreamIsTheLaneThatHasAllOfItsWork) {
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

TEST_F(DeviceFileTest, AGraphsNodesHaveAnArrowEach) {
  const Record& graph =
      crafted.call(thread, Function::cudaGraphLaunch, Layout::graph, 110 * us, 115 * us);
  crafted.api(thread, "cudaGraphLaunch", 111'000, 114'000, 9);
  const Record& first = crafted.kernel("a", 120'000, 130'000, 9);
  Record& second = crafted.kernel("b", 130'000, 140'000, 9);
  second.args[3] = 4294967297;
  write(window());
  EXPECT_EQ(lines({"\"ph\":\"s\"", "\"ts\":10.000", "\"tid\":500"}).size(), 2u);
  EXPECT_EQ(lines({"\"ph\":\"f\"", flow(place(graph)), "\"ts\":20.000"}).size(), 1u);
  EXPECT_EQ(lines({"\"ph\":\"f\"", flow(place(second)), "\"ts\":30.000"}).size(), 1u);
  EXPECT_EQ(lines({"\"cat\":\"kernel\"", correlation(place(graph))}).size(), 2u) << place(first);
  EXPECT_EQ(lines({"\"graph node id\":4294967297"}).size(), 1u);
}

TEST_F(DeviceFileTest, ACallThatNoDoorSawIsAnEventInItsNcclCall) {
  Record& nccl =
      crafted.call(thread, Function::ncclAllReduce, Layout::collective, 110 * us, 120 * us);
  nccl.detail = static_cast<std::uint32_t>(event::Collective::all_reduce);
  nccl.extra = crafted.communicator(0xfeed, 2, 4);
  nccl.args[0] = 1000;
  nccl.args[1] = 17;
  nccl.args[2] = 7;
  const Record& api = crafted.api(thread, "cuLaunchKernelEx", 112'000, 120'030, 9);
  crafted.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage)", 121'000,
                 140'000, 9);
  write(window());
  const std::string call = line({"\"cat\":\"cuda_driver\""});
  EXPECT_NE(call.find("{\"ts\":12.000,\"dur\":8.000,"), std::string::npos) << call;
  EXPECT_NE(call.find("\"tid\":500,\"args\":{" + correlation(place(api)) + ",\"result\":0"),
            std::string::npos)
      << call;
  EXPECT_EQ(lines({"\"ph\":\"s\"", flow(place(api)), "\"ts\":12.000", "\"tid\":500"}).size(), 1u);
  const std::string kernel = line({"\"cat\":\"kernel\""});
  EXPECT_NE(kernel.find(correlation(place(api)) +
                        ",\"Collective name\":\"allreduce\",\"In msg nelems\":1000,"
                        "\"Out msg nelems\":1000,\"Group size\":4,\"dtype\":\"Float\","
                        "\"bytes\":4000,\"Seq\":17,\"reduction\":\"sum\",\"Process Group Name\":"
                        "\"0\",\"comm hash\":\"0xfeed\",\"comm rank\":2}}"),
            std::string::npos)
      << kernel;
  EXPECT_NE(text.find("\"calls_only_cupti_saw\": {\"cuLaunchKernelEx\": 1}"), std::string::npos);
}

TEST_F(DeviceFileTest, ALaunchOfAnUnknownKernelHasTheNameOfWhatRan) {
  crafted.call(thread, Function::cuLaunchKernelEx_v1, Layout::launch, 110 * us, 112 * us);
  crafted.api(thread, "cuLaunchKernelEx", 110'500, 111'500, 1);
  crafted.kernel("_Z3addPfi", 113'000, 114'000, 1);
  Record& known = crafted.launch(thread, 120 * us, 122 * us);
  known.extra = crafted.name("as it was launched");
  crafted.api(thread, "cudaLaunchKernel", 120'500, 121'500, 2);
  crafted.kernel("as it ran", 123'000, 124'000, 2);
  write(window());
  EXPECT_EQ(lines({"\"cuLaunchKernelEx\"", "\"kernel\":\"add(float*, int)\""}).size(), 1u) << text;
  EXPECT_EQ(lines({"\"cudaLaunchKernel\"", "\"kernel\":\"as it was launched\""}).size(), 1u);
}

TEST_F(DeviceFileTest, AGroupsKernelsCarryItsSums) {
  const std::uint32_t comm = crafted.communicator(0xfeed, 2, 4);
  const auto collective = [&](event::Collective kind, std::uint64_t at, std::uint64_t count,
                              std::uint64_t type) {
    Record& record =
        crafted.call(thread, Function::ncclAllReduce, Layout::collective, at * us, at * us + 500);
    record.detail = static_cast<std::uint32_t>(kind);
    record.extra = comm;
    record.flags = event::flag_in_group;
    record.args[0] = count;
    record.args[1] = at;
    record.args[2] = type;
  };
  collective(event::Collective::all_reduce, 101, 77, 7);  // before the group
  crafted.call(thread, Function::ncclGroupStart, Layout::none, 110 * us, 111 * us);
  collective(event::Collective::all_reduce, 112, 1000, 7);
  collective(event::Collective::send, 113, 10, 7);
  collective(event::Collective::all_reduce, 114, 200, 7);
  collective(event::Collective::receive, 115, 10, 7);
  crafted.call(thread, Function::ncclGroupEnd, Layout::none, 120 * us, 130 * us);
  crafted.api(thread, "cuLaunchKernelEx", 121'000, 122'000, 9);
  crafted.api(thread, "cuLaunchKernelEx", 123'000, 124'000, 10);
  crafted.kernel("ncclDevKernel_AllReduce_Sum_f32_RING_LL()", 131'000, 140'000, 9);
  crafted.kernel("ncclDevKernel_SendRecv()", 141'000, 150'000, 10);
  write(window());
  const std::string reduce = line({"\"cat\":\"kernel\"", "AllReduce"});
  EXPECT_NE(reduce.find("\"Collective name\":\"allreduce\",\"In msg nelems\":1200,"
                        "\"Out msg nelems\":1200,\"Group size\":4,\"dtype\":\"Float\","
                        "\"bytes\":4800,\"Seq\":112,"),
            std::string::npos)
      << reduce;
  EXPECT_NE(reduce.find("\"grouped\":2}}"), std::string::npos) << reduce;
  const std::string exchange = line({"\"cat\":\"kernel\"", "SendRecv"});
  EXPECT_EQ(exchange.find("Collective name"), std::string::npos) << "they differ: " << exchange;
  EXPECT_NE(exchange.find("\"Process Group Name\":\"0\""), std::string::npos) << exchange;
  EXPECT_NE(exchange.find("\"grouped\":2}}"), std::string::npos) << exchange;
}

TEST_F(DeviceFileTest, WorkLaunchedBeforeTheWindowIsKeptAndMarked) {
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

TEST_F(DeviceFileTest, WorkWithoutAnyApiRecordSaysSo) {
  crafted.api(thread, "cudaLaunchKernel", 105'000, 106'000, 1);
  crafted.kernel("lost", 110'000, 120'000, 77);
  write(window());
  EXPECT_NE(line({"\"cat\":\"kernel\""}).find("\"launch\":\"not seen\""), std::string::npos);
}

// Two windows without a gap: work of either is in one file, that of its launch.
TEST_F(DeviceFileTest, WindowsBackToBackShareNothing) {
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
TEST_F(DeviceFileTest, WorkOfAnotherWindowKeepsItsPlace) {
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

TEST_F(DeviceFileTest, EachThreadsWaitsHaveALane) {
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

TEST_F(DeviceFileTest, ADeadProcesssRingGivesItTheSame) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("done", 120'000, 130'000, 1);
  crafted.launch(thread, 150 * us, 0);  // it died in it
  crafted.window(100 * us, 0, 1, 1);
  const auto reports = recover_windows(crafted.ring());
  ASSERT_EQ(reports.size(), 1u);
  ASSERT_EQ(reports[0].problem, "");
  text = trace::read_whole(reports[0].path);
  EXPECT_EQ(lines({"\"cat\":\"kernel\"", "\"name\":\"done\""}).size(), 1u);
  EXPECT_EQ(lines({"\"cat\":\"ac2g\""}).size(), 2u);
  EXPECT_NE(text.find("\"launches\": 1, \"work\": 1,"), std::string::npos) << text;
}

TEST_F(DeviceFileTest, WorkThatHasNotArrivedIsCountedLate) {
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

// As after a kill: what CUPTI held went with the process.
TEST_F(DeviceFileTest, CallsThatCuptiHadNotHandedOverAreLateAndNoRiddle) {
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

TEST_F(DeviceFileTest, AnArrowHasBothEndsOrNone) {
  const Record& launch = crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("before its call", 109'999, 120'000, 1);
  crafted.launch(thread, 130 * us, 135 * us);
  crafted.api(thread, "cudaLaunchKernel", 131'000, 134'000, 2);
  crafted.kernel("at its call's begin", 130'000, 140'000, 2);
  write(window());
  EXPECT_EQ(lines({"\"ph\":\"s\""}).size(), 1u) << text;
  EXPECT_EQ(lines({"\"ph\":\"f\""}).size(), 1u) << text;
  EXPECT_NE(line({"before its call"}).find(correlation(place(launch))), std::string::npos) << text;
  EXPECT_NE(text.find("\"launches\": 2, \"work\": 2, \"launches_without_work\": {},"),
            std::string::npos)
      << text;
}

// The records of its call were given back with the window before, or in a long warm-up.
TEST_F(DeviceFileTest, WorkWithASmallerIdThanTheWindowsCallsWasLaunchedBefore) {
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

// Else it would be in the merged file, and counted as lost there too.
TEST_F(DeviceFileTest, WhatWasCountedLateIsInNoLaterFile) {
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

TEST_F(DeviceFileTest, OverwrittenRecordsExplainWhatDoesNotMatch) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("whose call is gone", 120'000, 130'000, 9);
  ring::Window& own = window();
  own.dropped_at_end[static_cast<std::size_t>(ring::DropCause::overwritten)] = 1023;
  crafted.ring().count_drop(ring::DropCause::overwritten, 1023);
  write(own);
  EXPECT_NE(text.find("\"launches_without_work\": {\"lost\": 1}"), std::string::npos) << text;
  EXPECT_NE(text.find("\"work_without_launch\": {\"call_lost\": 1}"), std::string::npos) << text;
}

TEST_F(DeviceFileTest, ALaunchWhoseStreamHasGoneOnIsNotLate) {
  crafted.launch(thread, 110 * us, 115 * us).args[3] = 0x10;  // captured into a graph
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.launch(thread, 150 * us, 155 * us).args[3] = 0x10;
  crafted.api(thread, "cudaLaunchKernel", 151'000, 154'000, 2);
  crafted.kernel("done", 160'000, 170'000, 2);
  write(window());
  EXPECT_EQ(text.find("device_late"), std::string::npos);
  EXPECT_NE(text.find("\"launches_without_work\": {\"unknown\": 1}"), std::string::npos) << text;
}

TEST_F(DeviceFileTest, WhatIsCapturedHasNoWorkOfItsOwn) {
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

TEST_F(DeviceFileTest, ACaptureIsKnownFromCuptiWhereCallsOfStreamsAreLeftOut) {
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

TEST_F(DeviceFileTest, LossesOfTheDeviceSideAreTheWindowsThatWritesThem) {
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

TEST_F(DeviceFileTest, LaunchesBeforeCuptiWasOn) {
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

// Nothing was lost on the way: it was never recorded.
TEST_F(DeviceFileTest, LaunchesWhileCuptiIsOffAgainAreNotLate) {
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

TEST_F(DeviceFileTest, TimesFromEventsAreNoKernels) {
  Record& nccl =
      crafted.call(thread, Function::ncclAllReduce, Layout::collective, 110 * us, 120 * us);
  nccl.extra = crafted.communicator(0xfeed, 2, 4);
  nccl.args[2] = 7;
  crafted.timed(nccl, 0x55aa, 122'000, 150'500, 1500);
  const Record& other =
      crafted.call(thread, Function::ncclAllReduce, Layout::collective, 310 * us, 320 * us);
  crafted.timed(other, 0x55aa, 322'000, 350'500, 1500);
  write(window());
  const std::string slice = line({"\"cat\":\"kernel\""});
  EXPECT_NE(slice.find("{\"ts\":22.000,\"dur\":28.500,\"ph\":\"X\",\"cat\":\"kernel\",\"name\":"
                       "\"ncclAllReduce (timed)\""),
            std::string::npos)
      << slice;
  EXPECT_NE(slice.find(correlation(place(nccl))), std::string::npos) << slice;
  EXPECT_NE(slice.find("\"stream handle\":\"0x55aa\""), std::string::npos) << slice;
  EXPECT_NE(slice.find("\"time error (us)\":1.5,"), std::string::npos) << slice;
  EXPECT_NE(slice.find("\"Collective name\":\"allreduce\""), std::string::npos) << slice;
  EXPECT_EQ(lines({"thread_name", "GPU 0 stream 0x55aa (timed by events)"}).size(), 1u) << text;
  EXPECT_EQ(lines({"\"ph\":\"s\"", flow(place(nccl)), "\"tid\":500"}).size(), 1u);
  EXPECT_EQ(lines({"\"ph\":\"f\"", flow(place(nccl))}).size(), 1u);
}

TEST_F(DeviceFileTest, DamagedTextsAreLeftOut) {
  ring::DeviceBlock& device = crafted.ring().header().device;
  device.properties_json.store(crafted.name("[{\"id\": 0}"));
  device.streams_json.store(0xfffffff0);
  Record& kernel = crafted.kernel("a", 110'000, 120'000, 1);
  kernel.args[2] |= std::uint64_t{crafted.name("\"grid\":[1,2")} << 32;
  write(window());
  EXPECT_NE(text.find("\"deviceProperties\": [],"), std::string::npos);
  EXPECT_EQ(text.find("\"grid\""), std::string::npos);
  device.properties_json.store(crafted.name("[{\"id\": 0}]"));
  write(window(100, 200, 3));
  EXPECT_NE(text.find("\"deviceProperties\": [{\"id\": 0}],"), std::string::npos);
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
