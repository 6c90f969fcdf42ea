#include "agent/drain/event_text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <functional>

#include "agent/trace/document.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::Layout;
using event::Record;

class EventTextTest : public testing::Test {
 protected:
  Record& record(Function function, Layout layout) {
    return crafted.add(*chunk, function, layout, 1, 2);
  }

  // The event's line, without the comma that a following one would ask for.
  std::string line(const Record& record, bool in_flight = false) {
    const std::string path = folder / "trace.json";
    trace::OutputFile file;
    EXPECT_TRUE(file.open(path));
    trace::write_header(file, {});
    trace::EventWriter writer(file, 3);
    EventText(crafted.ring(), writer).write(record, 77, {1'234'567, 8'901, in_flight});
    trace::write_footer(file, "{}");
    EXPECT_TRUE(file.finish());
    const std::string text = trace::read_whole(path);
    const std::size_t start = text.find("{\"ts\":");
    return start == std::string::npos ? "" : text.substr(start, text.find('\n', start) - start);
  }

  static std::string x(const std::string& name, const std::string& category,
                       const std::string& arguments) {
    return "{\"ts\":1234.567,\"dur\":8.901,\"ph\":\"X\",\"cat\":\"" + category + "\",\"name\":\"" +
           name + "\",\"pid\":3,\"tid\":77,\"args\":{" + arguments + "}}";
  }

  trace::ScratchFolder folder;
  CraftedRing crafted;
  ring::Chunk* chunk = &crafted.chunk_of(77, "python");
};

TEST_F(EventTextTest, Launch) {
  Record& launch = record(Function::__cudaLaunchKernel, Layout::launch);
  launch.extra = crafted.ring().add_name("_Z3addPfi");
  launch.detail = 48;
  launch.args[0] = 1 | std::uint64_t{2} << 32;
  launch.args[1] = 3 | std::uint64_t{4} << 32;
  launch.args[2] = 5 | std::uint64_t{6} << 32;
  launch.args[3] = 0xabc;
  EXPECT_EQ(line(launch), x("cudaLaunchKernel", "cuda_runtime",
                            "\"correlation\":1024,\"result\":0,\"kernel\":\"add(float*, int)\","
                            "\"grid\":[1,2,3],\"block\":[4,5,6],\"shared memory\":48,"
                            "\"stream\":\"0xabc\""));
}

TEST_F(EventTextTest, LaunchOfAnUnknownKernelThatFailed) {
  Record& launch = record(Function::cudaLaunchKernel_ptsz, Layout::launch);
  launch.result = 98;
  EXPECT_EQ(line(launch), x("cudaLaunchKernel", "cuda_runtime",
                            "\"correlation\":1024,\"result\":98,\"error\":"
                            "\"cudaErrorInvalidDeviceFunction\",\"grid\":[0,0,0],\"block\":[0,0,0],"
                            "\"shared memory\":0,\"stream\":\"0x0\""));
}

TEST_F(EventTextTest, NamesThatAreNoMangledNamesStay) {
  Record& launch = record(Function::cudaLaunchKernel, Layout::launch);
  launch.extra = crafted.ring().add_name("say \"hi\"\n");
  EXPECT_NE(line(launch).find("\"kernel\":\"say \\\"hi\\\"\\n\""), std::string::npos)
      << line(launch);
}

TEST_F(EventTextTest, Copy) {
  Record& copy = record(Function::cudaMemcpyAsync, Layout::copy);
  copy.detail = 2;
  copy.args[0] = 0x10;
  copy.args[1] = 0x20;
  copy.args[2] = 4096;
  copy.args[3] = 0x30;
  EXPECT_EQ(line(copy), x("cudaMemcpyAsync", "cuda_runtime",
                          "\"correlation\":1024,\"result\":0,\"kind\":\"DtoH\",\"bytes\":4096,"
                          "\"dst\":\"0x10\",\"src\":\"0x20\",\"stream\":\"0x30\""));
  copy.detail = 77;
  EXPECT_NE(line(copy).find("\"kind\":77,"), std::string::npos);
  copy.args[2] = event::unknown_bytes;
  EXPECT_EQ(line(copy).find("bytes"), std::string::npos);
}

TEST_F(EventTextTest, PeerCopy) {
  Record& copy = record(Function::cudaMemcpyPeer, Layout::peer_copy);
  copy.detail = 1;
  copy.extra = 2;
  copy.args[2] = 8;
  EXPECT_EQ(line(copy), x("cudaMemcpyPeer", "cuda_runtime",
                          "\"correlation\":1024,\"result\":0,\"to device\":1,\"from device\":2,"
                          "\"bytes\":8,\"dst\":\"0x0\",\"src\":\"0x0\",\"stream\":\"0x0\""));
}

TEST_F(EventTextTest, AllocationAndFree) {
  Record& allocation = record(Function::cudaMallocAsync, Layout::allocation);
  allocation.args[0] = 0x7f00;
  allocation.args[2] = 256;
  allocation.args[3] = 0x9;
  EXPECT_EQ(line(allocation),
            x("cudaMallocAsync", "cuda_runtime",
              "\"correlation\":1024,\"result\":0,\"pointer\":\"0x7f00\",\"bytes\":256,"
              "\"stream\":\"0x9\""));
  Record& release = record(Function::cudaFree, Layout::allocation);
  release.args[0] = 0x7f00;
  EXPECT_EQ(line(release), x("cudaFree", "cuda_runtime",
                             "\"correlation\":1025,\"result\":0,\"pointer\":\"0x7f00\""));
}

TEST_F(EventTextTest, StreamsEventsDevicesGraphsAndWaits) {
  Record& stream = record(Function::cudaStreamDestroy, Layout::stream);
  stream.args[3] = 0x5;
  EXPECT_EQ(line(stream), x("cudaStreamDestroy", "cuda_runtime",
                            "\"correlation\":1024,\"result\":0,\"stream\":\"0x5\""));
  Record& event = record(Function::cudaEventRecord, Layout::event);
  event.args[0] = 0xe;
  event.args[3] = 0x5;
  EXPECT_EQ(line(event),
            x("cudaEventRecord", "cuda_runtime",
              "\"correlation\":1025,\"result\":0,\"event\":\"0xe\",\"stream\":\"0x5\""));
  Record& device = record(Function::cudaSetDevice, Layout::device);
  device.detail = static_cast<std::uint32_t>(-1);
  device.result = 101;
  EXPECT_EQ(
      line(device),
      x("cudaSetDevice", "cuda_runtime",
        "\"correlation\":1026,\"result\":101,\"error\":\"cudaErrorInvalidDevice\",\"device\":-1"));
  Record& graph = record(Function::cudaGraphLaunch, Layout::graph);
  graph.args[0] = 0x6;
  EXPECT_EQ(line(graph), x("cudaGraphLaunch", "cuda_runtime",
                           "\"correlation\":1027,\"result\":0,\"graph\":\"0x6\""));
  Record& wait = record(Function::cudaStreamSynchronize, Layout::synchronise);
  wait.args[0] = 0x5;
  EXPECT_EQ(line(wait), x("cudaStreamSynchronize", "cuda_runtime",
                          "\"correlation\":1028,\"result\":0,\"handle\":\"0x5\""));
  Record& default_wait = record(Function::cudaStreamSynchronize, Layout::synchronise);
  EXPECT_EQ(line(default_wait), x("cudaStreamSynchronize", "cuda_runtime",
                                  "\"correlation\":1029,\"result\":0,\"handle\":\"0x0\""));
  Record& device_wait = record(Function::cudaDeviceSynchronize, Layout::synchronise);
  EXPECT_EQ(line(device_wait),
            x("cudaDeviceSynchronize", "cuda_runtime", "\"correlation\":1030,\"result\":0"));
  Record& other = record(Function::cudaDeviceReset, Layout::none);
  EXPECT_EQ(line(other), x("cudaDeviceReset", "cuda_runtime", "\"correlation\":1031,\"result\":0"));
}

TEST_F(EventTextTest, ACallInFlightHasNoResult) {
  Record& wait = record(Function::cudaDeviceSynchronize, Layout::synchronise);
  EXPECT_EQ(line(wait, true),
            x("cudaDeviceSynchronize", "cuda_runtime", "\"correlation\":1024,\"in flight\":true"));
}

TEST_F(EventTextTest, Collective) {
  crafted.communicator(0x1111, 0, 8);
  Record& call = record(Function::ncclAllReduce, Layout::collective);
  call.detail = static_cast<std::uint32_t>(event::Collective::all_reduce);
  call.extra = crafted.communicator(0xfeed, 2, 4);
  call.flags = event::flag_in_place | event::flag_in_group;
  call.args[0] = 1000;
  call.args[1] = 17;
  call.args[2] = 9 | 4 << 8 | std::uint64_t{0xffffffff} << 32;
  call.args[3] = 0x5;
  EXPECT_EQ(line(call), x("ncclAllReduce", "nccl",
                          "\"correlation\":1024,\"result\":0,\"Collective name\":\"allreduce\","
                          "\"In msg nelems\":1000,\"Out msg nelems\":1000,\"Group size\":4,"
                          "\"dtype\":\"BFloat16\",\"bytes\":2000,\"Seq\":17,\"reduction\":\"avg\","
                          "\"Process Group Name\":\"1\",\"comm hash\":\"0xfeed\",\"comm rank\":2,"
                          "\"in place\":true,\"in group\":true,\"stream\":\"0x5\""));
}

TEST_F(EventTextTest, ACollectiveThatGoesOnIsNoError) {
  Record& call = record(Function::ncclAllReduce, Layout::collective);
  call.result = 7;
  EXPECT_NE(line(call).find("\"result\":7,\"state\":\"ncclInProgress\""), std::string::npos);
  call.result = 2;
  EXPECT_NE(line(call).find("\"error\":\"ncclSystemError\""), std::string::npos);
}

TEST_F(EventTextTest, GathersAndScattersCountForAllRanks) {
  using event::Collective;
  const struct {
    Collective kind;
    std::uint64_t in, out;
  } cases[] = {{Collective::all_gather, 10, 40},     {Collective::gather, 10, 40},
               {Collective::reduce_scatter, 40, 10}, {Collective::scatter, 40, 10},
               {Collective::all_to_all, 40, 40},     {Collective::broadcast, 10, 10},
               {Collective::reduce, 10, 10},         {Collective::send, 10, 10}};
  const std::uint32_t comm = crafted.communicator(0xfeed, 2, 4);
  for (const auto& each : cases) {
    Record& call = record(Function::ncclAllGather, Layout::collective);
    call.detail = static_cast<std::uint32_t>(each.kind);
    call.extra = comm;
    call.args[0] = 10;
    const std::string expected = "\"In msg nelems\":" + std::to_string(each.in) +
                                 ",\"Out msg nelems\":" + std::to_string(each.out) + ",";
    EXPECT_NE(line(call).find(expected), std::string::npos) << line(call);
  }
}

TEST_F(EventTextTest, PointToPointNamesItsPeer) {
  Record& send = record(Function::ncclSend, Layout::collective);
  send.detail = static_cast<std::uint32_t>(event::Collective::send);
  send.extra = crafted.communicator(0xfeed, 2, 4);
  send.args[0] = 4;
  send.args[2] = 7 | 255 << 8 | std::uint64_t{3} << 32;
  EXPECT_EQ(line(send), x("ncclSend", "nccl",
                          "\"correlation\":1024,\"result\":0,\"Collective name\":\"send\","
                          "\"In msg nelems\":4,\"Out msg nelems\":4,\"Group size\":4,"
                          "\"dtype\":\"Float\",\"bytes\":16,\"Seq\":0,\"Dst Rank\":3,"
                          "\"Process Group Name\":\"0\",\"comm hash\":\"0xfeed\",\"comm rank\":2,"
                          "\"stream\":\"0x0\""));
  Record& receive = record(Function::ncclRecv, Layout::collective);
  receive.detail = static_cast<std::uint32_t>(event::Collective::receive);
  receive.args[2] = 7 | 255 << 8 | std::uint64_t{2} << 32;
  EXPECT_NE(line(receive).find("\"Src Rank\":2,"), std::string::npos);
}

// A number of ranks that nobody told would make numbers of elements of it, and 0x0 be the identity
// of several communicators.
TEST_F(EventTextTest, OfACommunicatorThatIsNotKnownNothingIsSaid) {
  Record& call = record(Function::ncclAllGather, Layout::collective);
  call.detail = static_cast<std::uint32_t>(event::Collective::all_gather);
  call.args[0] = 10;
  call.args[1] = event::no_sequence;
  call.args[2] = 7 | 255 << 8;
  const std::string without =
      "\"correlation\":1024,\"result\":0,\"Collective name\":\"_allgather_base\",\"bytes\":40,";
  EXPECT_EQ(line(call), x("ncclAllGather", "nccl", without + "\"stream\":\"0x0\""));
  call.extra = crafted.communicator(0, -1, 0);
  call.args[1] = event::sequence_lost + 3;
  EXPECT_EQ(line(call), x("ncclAllGather", "nccl",
                          without + "\"Process Group Name\":\"0\",\"stream\":\"0x0\""));
}

TEST_F(EventTextTest, OnlyNumbersThatOtherRanksHaveAreShown) {
  Record& send = record(Function::ncclSend, Layout::collective);
  send.detail = static_cast<std::uint32_t>(event::Collective::send);
  for (const auto& [number, is_shown] :
       {std::pair<std::uint64_t, bool>{7, true}, {event::peer_sequence_lost + 7, false}}) {
    send.args[1] = number;
    EXPECT_EQ(line(send).find("\"Seq\"") != std::string::npos, is_shown) << line(send);
  }
}

TEST_F(EventTextTest, ValuesOfADamagedRingSpoilNoJson) {
  Record& call = record(Function::ncclAllReduce, Layout::collective);
  call.function = 60'000;
  call.detail = 200;
  call.extra = 5000;
  call.args[2] = UINT64_MAX;
  EXPECT_EQ(line(call).back(), '}');
  Record& odd = record(Function::cudaFree, static_cast<Layout>(99));
  EXPECT_EQ(line(odd), x("cudaFree", "cuda_runtime", "\"correlation\":1025,\"result\":0"));
  Record& name = record(Function::cudaLaunchKernel, Layout::launch);
  name.extra = 0xfffffff0;
  EXPECT_EQ(line(name).back(), '}');
}

TEST_F(EventTextTest, Communicator) {
  Record& init = record(Function::ncclCommInitRank, Layout::communicator);
  init.extra = crafted.communicator(0xbeef, 1, 2);
  EXPECT_EQ(line(init), x("ncclCommInitRank", "nccl",
                          "\"correlation\":1024,\"result\":0,\"comm hash\":\"0xbeef\","
                          "\"Group size\":2,\"comm rank\":1"));
}

TEST_F(EventTextTest, RangesAndMarks) {
  Record& range = record(Function::nvtx_range, Layout::range);
  range.extra = crafted.ring().add_name("forward");
  range.args[0] = crafted.ring().add_name("model");
  range.args[2] = 0xff0000 | std::uint64_t{7} << 32;
  EXPECT_EQ(line(range), x("forward", "user_annotation", "\"domain\":\"model\",\"category\":7"));
  Record& mark = record(Function::nvtx_mark, Layout::mark);
  const std::string text = line(mark, true);
  EXPECT_NE(text.find("\"ph\":\"i\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"name\":\"(unnamed)\""), std::string::npos) << text;
  EXPECT_EQ(text.find("dur"), std::string::npos) << text;
  EXPECT_EQ(text.find("in flight"), std::string::npos) << text;
}

TEST_F(EventTextTest, PayloadsAreNumbers) {
  const struct {
    std::uint32_t type;
    std::uint64_t bits;
    const char* expected;
  } cases[] = {{1, UINT64_MAX, "\"payload\":18446744073709551615"},
               {2, static_cast<std::uint64_t>(-5), "\"payload\":-5"},
               {3, std::bit_cast<std::uint64_t>(0.25), "\"payload\":0.25"},
               {4, 0xffffffff'00000007, "\"payload\":7"},
               {5, 0xffffffff, "\"payload\":-1"},
               {6, std::bit_cast<std::uint32_t>(1.5f), "\"payload\":1.5"}};
  for (const auto& each : cases) {
    Record& mark = record(Function::nvtx_mark, Layout::mark);
    mark.detail = each.type;
    mark.args[1] = each.bits;
    EXPECT_NE(line(mark).find(each.expected), std::string::npos) << line(mark);
  }
  Record& nan = record(Function::nvtx_mark, Layout::mark);
  nan.detail = 3;
  nan.args[1] = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(line(nan).find("nan"), std::string::npos) << line(nan);
  nan.detail = 0;
  EXPECT_EQ(line(nan).find("payload"), std::string::npos);
}

}  // namespace
}  // namespace traceagent::drain
