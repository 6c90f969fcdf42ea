// Groups that NCCL, or what is built in its place, opens within its own calls are none of the
// job's, whatever way their two ends take.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "agent/door/nccl_calls.hpp"
#include "agent/door/targets.hpp"
#include "agent/door/wrappers.hpp"
#include "tests/unit/door/recording.hpp"

namespace traceagent::door {
namespace {

using api::Function;
using AllReduce = ncclResult_t(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t,
                               ncclComm_t, cudaStream_t);
using Group = ncclResult_t();
using InitAll = ncclResult_t(ncclComm_t*, int, const int*);

template <class Real>
Real* wrapped(Function function, Real* real) {
  target(Library::nccl, function).store(reinterpret_cast<void*>(real));
  return reinterpret_cast<Real*>(wrapper_of(Library::nccl, function));
}

ncclResult_t real_group() { return ncclSuccess; }

Group* group_start;
Group* group_end;
void (*between_the_ends)();

void group_within() {
  group_start();
  between_the_ends();
  group_end();
}
ncclResult_t all_reduce_in_a_group(const void*, void*, std::size_t, ncclDataType_t, ncclRedOp_t,
                                   ncclComm_t, cudaStream_t) {
  if (between_the_ends != nullptr) group_within();
  return ncclSuccess;
}
ncclResult_t init_all_in_a_group(ncclComm_t*, int, const int*) {
  group_within();
  return ncclInvalidArgument;
}

class NcclGroup : public testing::Test {
 protected:
  NcclGroup() {
    group_start = wrapped(Function::ncclGroupStart, &real_group);
    group_end = wrapped(Function::ncclGroupEnd, &real_group);
    between_the_ends = nullptr;
    add_communicator(comm, 99, 4, 1);
  }
  ~NcclGroup() override {
    ring::writer.nccl_group_depth = 0;
    remove_communicator(comm);
  }
  void all_reduce(std::size_t count) {
    hooked_all_reduce(&comm, nullptr, count, ncclFloat, ncclSum, comm, nullptr);
  }
  void expect_no_open_group() {
    step::set_all_modes(step::Mode::record);
    between_the_ends = nullptr;
    all_reduce(1);
    ASSERT_FALSE(recording.records().empty());
    const event::Record& record = *recording.records().back();
    EXPECT_EQ(record.layout, event::Layout::collective);
    EXPECT_EQ(record.flags & event::flag_in_group, 0);
  }

  Recording recording;
  ncclComm_t comm = reinterpret_cast<ncclComm_t>(0x7e0000002000);
  AllReduce* hooked_all_reduce = wrapped(Function::ncclAllReduce, &all_reduce_in_a_group);
};

TEST_F(NcclGroup, WithinAnIdleCallIsNotTheJobsWhenAWindowOpensBetweenItsEnds) {
  step::set_all_modes(step::Mode::count);
  between_the_ends = [] { step::set_all_modes(step::Mode::record); };
  all_reduce(1);
  expect_no_open_group();
}

// A collective within the call, of another communicator, is none of what was refused.
TEST_F(NcclGroup, ARefusedCollectiveIsTakenBackFromItsOwnCommunicator) {
  static ncclComm_t other = reinterpret_cast<ncclComm_t>(0x7e0000003000);
  static ncclResult_t answer = ncclSuccess;
  static AllReduce* within = nullptr;
  add_communicator(other, 77, 2, 1);
  within = wrapped<AllReduce>(Function::ncclAllReduce,
                              [](const void* from, void* to, auto count, auto type, auto op,
                                 ncclComm_t on, cudaStream_t stream) {
                                if (on == other) return ncclSuccess;
                                if (answer != ncclSuccess)
                                  within(from, to, count, type, op, other, stream);
                                return answer;
                              });
  step::set_all_modes(step::Mode::count);
  all_reduce(8);
  all_reduce(8);
  answer = ncclInternalError;
  all_reduce(8);
  EXPECT_EQ(communicator_of(comm)->collectives.load(), 2U);
  remove_communicator(other);
}

step::Tracker* followed;
struct NoListener final : step::StepListener {
  void on_step_begin(std::uint64_t, std::uint64_t) noexcept override {}
  void on_step_end(std::uint64_t, std::uint64_t) noexcept override {}
  void on_step_retracted(std::uint64_t) noexcept override {}
};

TEST_F(NcclGroup, WithinACallIsNotTheJobsWhenItsFirstEndWasExpectedAndItsLastNot) {
  NoListener listener;
  step::Tracker steps(config::parse_step_mark("auto").mark, listener);
  report_to(followed = &steps);
  step::set_all_modes(step::Mode::observe);
  for (int step = 0; step < 300; ++step) {
    for (std::size_t call = 0; call < 10; ++call) all_reduce(1 + call);
  }
  for (std::size_t call = 0; call < 3; ++call) all_reduce(1 + call);
  ASSERT_TRUE(steps.expects_collectives());
  auto* init_all = wrapped(Function::ncclCommInitAll, &init_all_in_a_group);
  between_the_ends = [] { std::thread([] { followed->collective(7, 7, 0); }).join(); };
  init_all(nullptr, 1, nullptr);
  ASSERT_FALSE(steps.expects_collectives()) << "closed by the other thread";
  expect_no_open_group();
}

// The same of the job's own: what they enclose is in the group, and nothing after it.
TEST_F(NcclGroup, OfTheJobsIsItsOwnWhicheverWayItsEndsTake) {
  for (const auto mode_of_start : {step::Mode::count, step::Mode::observe, step::Mode::record}) {
    for (const auto mode_of_end : {step::Mode::count, step::Mode::observe, step::Mode::record}) {
      step::set_all_modes(mode_of_start);
      group_start();
      EXPECT_EQ(ring::writer.nccl_group_depth, 1u);
      step::set_all_modes(mode_of_end);
      group_end();
      EXPECT_EQ(ring::writer.nccl_group_depth, 0u);
    }
  }
}

}  // namespace
}  // namespace traceagent::door
