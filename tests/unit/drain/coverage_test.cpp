#include "agent/drain/coverage.hpp"

#include <gtest/gtest.h>

#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::Layout;
using ring::DoorId;

std::uint64_t count_of(const DoorCalls& calls, DoorId door) {
  return calls[static_cast<std::size_t>(door)];
}

TEST(Coverage, counts_each_record_at_its_door) {
  CraftedRing crafted;
  ring::Chunk& chunk = crafted.chunk_of(500, "main");
  crafted.add(chunk, Function::cudaMalloc, Layout::allocation, 10, 11);
  crafted.add(chunk, Function::cudaLaunchKernel, Layout::launch, 12, 13);
  crafted.add(chunk, Function::ncclAllReduce, Layout::collective, 14, 20);
  crafted.add(chunk, Function::cuLaunchKernel_v1, Layout::launch, 15, 16);
  crafted.add(chunk, Function::nvtx_range, Layout::range, 21, 25);
  crafted.add(chunk, Function::nvtx_mark, Layout::mark, 22, 22);
  crafted.add(chunk, Function::ncclAllReduce, Layout::collective_plan, 15, 19);
  for (const Layout layout : {Layout::device_work, Layout::api_call, Layout::timed_by_event}) {
    crafted.add(chunk, Function::none, layout, 30, 30);
  }
  DoorCalls calls{};
  ThreadEvents thread;
  for (std::size_t i = 0; i < 10; ++i) thread.records.push_back(&chunk.records[i]);
  count_calls({thread}, calls);
  EXPECT_EQ(count_of(calls, DoorId::cudart), 2U);
  EXPECT_EQ(count_of(calls, DoorId::nccl), 1U);
  EXPECT_EQ(count_of(calls, DoorId::driver), 1U);
  EXPECT_EQ(count_of(calls, DoorId::nvtx), 2U);
  EXPECT_EQ(count_of(calls, DoorId::nccl_plugin), 1U);
  EXPECT_EQ(count_of(calls, DoorId::cupti), 3U);
  EXPECT_EQ(count_of(calls, DoorId::dlsym), 0U);
}

TEST(Coverage, says_which_doors_were_open_and_what_came) {
  CraftedRing crafted;
  crafted.ring().header().door_open[static_cast<std::size_t>(DoorId::nccl)].store(1);
  DoorCalls calls{};
  calls[static_cast<std::size_t>(DoorId::nccl)] = 5;
  const std::string text = doors_object(crafted.ring(), calls).text();
  EXPECT_NE(text.find(R"("nccl": {"open": true, "calls": 5})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("cupti": {"open": false, "calls": 0})"), std::string::npos) << text;
  EXPECT_NE(text.find(R"("dlsym": {"open": false})"), std::string::npos) << text;
}

TEST(Coverage, names_the_causes_of_what_does_not_match) {
  CraftedRing crafted;
  ring::DeviceBlock& device = crafted.ring().header().device;
  device.source.store(ring::DeviceSource::cupti);
  device.cupti_version.store(26);
  DeviceMatch match;
  match.launches = 7;
  match.work = 5;
  match.launches_without_work[cause_late] = 2;
  match.launches_without_work[cause_lost] = 0;
  match.work_without_launch[cause_before_window] = 1;
  match.calls_only_cupti_saw["cuLaunchKernel"] = 3;
  const std::string text = device_object(crafted.ring(), match).text();
  for (const char* part : {R"("source": "cupti")", R"("cupti_version": 26)", R"("launches": 7)",
                           R"("work": 5)", R"("launches_without_work": {"late": 2})",
                           R"("work_without_launch": {"launched_before_window": 1})",
                           R"("calls_only_cupti_saw": {"cuLaunchKernel": 3})"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
  }
  EXPECT_EQ(text.find("problem"), std::string::npos) << text;
}

}  // namespace
}  // namespace traceagent::drain
