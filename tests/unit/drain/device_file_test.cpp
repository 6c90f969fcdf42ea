// The device's work in a rank file: what is there, and how it is tied to its launch.

#include <gtest/gtest.h>

#include "agent/drain/recover_window.hpp"
#include "tests/unit/drain/written_device_file.hpp"

namespace traceagent::drain {
namespace {

class DeviceFileTest : public WrittenDeviceFile {};

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

TEST_F(DeviceFileTest, ADeadProcesssRingGivesItTheSame) {
  crafted.launch(thread, 110 * us, 115 * us);
  crafted.api(thread, "cudaLaunchKernel", 111'000, 114'000, 1);
  crafted.kernel("done", 120'000, 130'000, 1);
  crafted.launch(thread, 150 * us, 0);  // it died in it
  crafted.window(100 * us, 0, 1, 1);
  const auto reports = recover_windows(crafted.ring(), UINT64_MAX);
  ASSERT_EQ(reports.size(), 1u);
  ASSERT_EQ(reports[0].problem, "");
  text = trace::read_whole(reports[0].path);
  EXPECT_EQ(lines({"\"cat\":\"kernel\"", "\"name\":\"done\""}).size(), 1u);
  EXPECT_EQ(lines({"\"cat\":\"ac2g\""}).size(), 2u);
  EXPECT_NE(text.find("\"launches\": 1, \"work\": 1,"), std::string::npos) << text;
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

TEST_F(DeviceFileTest, AGroupsTimeOnAStreamIsThatOfItsCallsThere) {
  const std::uint32_t comms[] = {crafted.communicator(0xa, 0, 4), crafted.communicator(0xb, 0, 4)};
  crafted.call(thread, Function::ncclGroupStart, Layout::none, 105 * us, 106 * us);
  std::uint64_t at = 107;
  for (const std::uint64_t stream : {0x10, 0x20, 0, 0}) {
    Record& call =
        crafted.call(thread, Function::ncclAllReduce, Layout::collective, at * us, at * us + 500);
    call.extra = comms[at % 2];
    call.args[0] = at++;
    call.args[2] = 0;  // bytes
    call.args[3] = stream;
  }
  const Record& end =
      crafted.call(thread, Function::ncclGroupEnd, Layout::none, 115 * us, 120 * us);
  crafted.timed(end, 0x10, 122'000, 130'000, 1500);
  crafted.timed(end, 0x20, 132'000, 140'000, 1500);
  crafted.timed(end, 0, 142'000, 150'000, 1500);
  write(window());
  const auto slice = [&](const char* ts) { return line({"(timed)", ts}); };
  EXPECT_NE(slice("\"ts\":22.000").find("\"bytes\":107,"), std::string::npos) << text;
  EXPECT_NE(slice("\"ts\":32.000").find("\"bytes\":108,"), std::string::npos) << text;
  EXPECT_EQ(slice("\"ts\":42.000").find("\"bytes\""), std::string::npos)
      << "two devices' default streams have one handle: " << text;
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

}  // namespace
}  // namespace traceagent::drain
