// Which calls a kernel of NCCL's carries out where a thread of NCCL's own launched it: never one
// that may be another's.

#include <gtest/gtest.h>

#include <sstream>

#include "agent/drain/rank_file.hpp"
#include "agent/event/plan_record.hpp"
#include "tests/unit/drain/crafted_device.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::Layout;
using event::Record;

constexpr std::uint32_t job = 500, nccl = 600;
constexpr std::uint64_t us = 1000;
constexpr int in_progress = 7;
constexpr char kernel_name[] = "ncclDevKernel_AllReduce_Sum_f32_RING_LL()";

class NcclKernelsTest : public testing::Test {
 protected:
  // An all-reduce that returned before it was launched.
  Record& call(std::uint32_t comm, std::uint64_t at, std::uint64_t sequence) {
    Record& record =
        crafted.call(job, Function::ncclAllReduce, Layout::collective, at * us, at * us + 500);
    record.detail = static_cast<std::uint32_t>(event::Collective::all_reduce);
    record.extra = comm;
    record.result = in_progress;
    record.args[0] = 1000;
    record.args[1] = sequence;
    record.args[2] = 7;
    return record;
  }
  void launch(std::int64_t at, std::uint32_t id) {
    crafted.api(nccl, "cuLaunchKernelEx", at * 1000, at * 1000 + 500, id);
    crafted.kernel(kernel_name, 150'000 + 1000 * id, 150'900 + 1000 * id, id);
  }
  void plan(std::uint64_t at, const Record& of) {
    Record& record = crafted.call(nccl, Function::ncclAllReduce, Layout::collective_plan, at * us,
                                  at * us + 300);
    event::CollectivePlan plan{};
    plan.function = static_cast<std::uint16_t>(Function::ncclAllReduce);
    plan.communicator = told;
    plan.algorithm = crafted.name("RING");
    plan.count = 1000;
    plan.channels = 3;
    plan.call = ring::correlation_of(crafted.ring(), of);
    event::fill(record, event::PlanKind::collective, plan);
  }
  void write() {
    ring::Window& window = crafted.window(100 * us, 300 * us, 1, 1);
    window.dropped_at_end[static_cast<std::size_t>(ring::DropCause::device_dropped)] = dropped;
    crafted.ring().count_drop(ring::DropCause::device_dropped, dropped);
    const RankFileReport report = write_rank_file(crafted.ring(), window, {});
    EXPECT_EQ(report.problem, "");
    text = trace::read_whole(report.path);
  }
  // The kernel's line in the file.
  std::string kernel(std::uint32_t id) const {
    std::istringstream stream(text);
    const std::string ts = "\"ts\":" + std::to_string(50 + id) + ".000";
    for (std::string line; std::getline(stream, line);) {
      if (line.find(ts) != line.npos && line.find("\"cat\":\"kernel\"") != line.npos) return line;
    }
    ADD_FAILURE() << text;
    return "";
  }
  static bool has(const std::string& line, const std::string& part) {
    return line.find(part) != line.npos;
  }
  bool says(const std::string& part) const { return has(text, part); }
  std::size_t arrows() const {
    std::size_t count = 0;
    for (auto at = text.find("\"nccl_call\""); at != text.npos; ++count) {
      at = text.find("\"nccl_call\"", text.find('\n', at));
    }
    return count;
  }

  trace::ScratchFolder scratch;
  CraftedDevice crafted{scratch / "out"};
  std::uint32_t first = crafted.communicator(0xa, 0, 4), second = crafted.communicator(0xb, 0, 4);
  std::uint32_t told = crafted.communicator(0xc, 0, 4);
  std::uint64_t dropped = 0;
  std::string text;
};

TEST_F(NcclKernelsTest, APlanIsOfTheLaunchBeforeIt) {
  crafted.ring().header().communicators[told - 1].device = event::told_by_nccl;
  const Record& one = call(first, 110, 17);
  const Record& other = call(first, 111, 18);
  launch(120, 1);
  plan(121, other);
  launch(122, 2);
  plan(123, one);
  write();
  EXPECT_TRUE(has(kernel(1), "\"Seq\":18,")) << kernel(1);
  EXPECT_TRUE(has(kernel(1), "\"algorithm\":\"RING\",\"channels\":3")) << kernel(1);
  EXPECT_TRUE(has(kernel(2), "\"Seq\":17,")) << kernel(2);
  EXPECT_EQ(arrows(), 4u) << "both ends of two: " << text;
  EXPECT_FALSE(says("nccl_kernels_without_call")) << text;
}

TEST_F(NcclKernelsTest, APlanOfALaterCallIsOfALaunchThatWasLost) {
  crafted.ring().header().communicators[told - 1].device = event::told_by_nccl;
  launch(110, 1);
  plan(121, call(first, 120, 18));
  dropped = 1;
  write();
  EXPECT_FALSE(has(kernel(1), "Collective name")) << kernel(1);
  EXPECT_TRUE(says("\"nccl_kernels_without_call\": {\"call_lost\": 1}")) << text;
  EXPECT_EQ(arrows(), 0u);
}

TEST_F(NcclKernelsTest, WithoutPlansTheLatestCallOfACommunicatorIsMeant) {
  call(first, 110, 17);
  launch(112, 1);
  call(first, 120, 18);
  call(second, 140, 3);
  launch(125, 2);
  launch(145, 3);
  write();
  EXPECT_TRUE(has(kernel(1), "\"Seq\":17,")) << kernel(1);
  EXPECT_TRUE(has(kernel(2), "\"Seq\":18,")) << kernel(2);
  EXPECT_TRUE(has(kernel(3), "\"Seq\":3,")) << kernel(3);
}

TEST_F(NcclKernelsTest, WhatMayBeOfTwoCallsIsOfNone) {
  call(first, 110, 17);
  call(second, 111, 3);
  launch(120, 1);
  launch(121, 2);
  write();
  EXPECT_FALSE(has(kernel(1), "Collective name")) << kernel(1);
  EXPECT_FALSE(has(kernel(2), "Collective name")) << kernel(2);
  EXPECT_TRUE(says("\"nccl_kernels_without_call\": {\"several_calls\": 2}")) << text;
}

// One of them was asked for before the window.
TEST_F(NcclKernelsTest, MoreKernelsThanCallsAreOfNone) {
  call(first, 110, 17);
  launch(120, 1);
  launch(121, 2);
  write();
  EXPECT_FALSE(has(kernel(1), "Collective name")) << kernel(1);
  EXPECT_FALSE(has(kernel(2), "Collective name")) << kernel(2);
  EXPECT_TRUE(says("\"nccl_kernels_without_call\": {\"several_calls\": 2}")) << text;
}

// The window begins in the midst of a group: what it shows of that is not all.
TEST_F(NcclKernelsTest, AGroupThatBeganBeforeTheWindowIsOfNone) {
  const auto grouped_call = [&](std::uint64_t at, std::uint64_t sequence) {
    Record& record = call(first, at, sequence);
    record.result = 0;
    record.flags |= event::flag_in_group;
  };
  const auto group_end = [&](std::uint64_t at, std::uint32_t id) {
    crafted.call(job, Function::ncclGroupEnd, Layout::none, at * us, (at + 5) * us);
    const auto launched = static_cast<std::int64_t>(at + 1) * 1000;
    crafted.api(job, "cuLaunchKernelEx", launched, launched + 500, id);
    crafted.kernel(kernel_name, 150'000 + 1000 * id, 150'900 + 1000 * id, id);
  };
  crafted.call(job, Function::ncclGroupStart, Layout::none, 97 * us, 98 * us);
  grouped_call(99, 16);
  grouped_call(101, 17);
  group_end(105, 1);
  crafted.call(job, Function::ncclGroupStart, Layout::none, 112 * us, 113 * us);
  grouped_call(114, 18);
  group_end(116, 2);
  write();
  EXPECT_FALSE(has(kernel(1), "Collective name")) << kernel(1);
  EXPECT_TRUE(has(kernel(2), "\"Seq\":18,")) << kernel(2);
  EXPECT_TRUE(says("\"nccl_kernels_without_call\": {\"group_before_window\": 1}")) << text;
}

// NCCL tells of all that a kernel carries out, also of what is not in the window.
TEST_F(NcclKernelsTest, AKernelOfCallsBeforeTheWindowTooIsOfNone) {
  crafted.ring().header().communicators[told - 1].device = event::told_by_nccl;
  const Record& before = call(first, 90, 17);
  const Record& within = call(first, 110, 18);
  launch(120, 1);
  plan(121, before);
  plan(122, within);
  write();
  EXPECT_FALSE(has(kernel(1), "Collective name")) << kernel(1);
  EXPECT_TRUE(says("\"nccl_kernels_without_call\": {\"group_before_window\": 1}")) << text;
}

TEST_F(NcclKernelsTest, AKernelThatNobodyAskedForSaysSo) {
  launch(120, 1);
  write();
  EXPECT_TRUE(says("\"nccl_kernels_without_call\": {\"no_call\": 1}")) << text;
}

}  // namespace
}  // namespace traceagent::drain
