#include "agent/drain/collective_plans.hpp"

#include <gtest/gtest.h>

#include "agent/drain/clock.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::Collective;
using event::Layout;
using event::Record;

constexpr std::uint64_t begin = 1000, end = 9000;
constexpr std::uint64_t type_float = 7;

class Plans : public testing::Test {
 protected:
  Plans() {
    told_ = crafted.communicator(0xabc, 1, 4);
    crafted.ring().header().communicators[told_ - 1].device = event::told_by_nccl;
  }

  Record& all_reduce(std::uint64_t from, std::uint64_t to, std::uint64_t count,
                     bool in_group = false) {
    Record& call = crafted.add(thread, Function::ncclAllReduce, Layout::collective, from, to);
    call.detail = static_cast<std::uint32_t>(Collective::all_reduce);
    call.extra = wrapped;
    call.flags = in_group ? event::flag_in_group : 0;
    call.args[0] = count;
    call.args[2] = type_float;
    return call;
  }
  void group(Function function, std::uint64_t from, std::uint64_t to) {
    crafted.add(thread, function, Layout::none, from, to);
  }

  Record& plan(ring::Chunk& chunk, std::uint64_t from, std::uint64_t count, std::uint64_t sequence,
               std::uint64_t call = 0) {
    Record& record =
        crafted.add(chunk, Function::ncclAllReduce, Layout::collective_plan, from, from + 5);
    event::CollectivePlan plan{};
    plan.function = static_cast<std::uint16_t>(Function::ncclAllReduce);
    plan.communicator = told_;
    plan.count = count;
    plan.sequence = sequence;
    plan.datatype = type_float;
    plan.channels = 3;
    plan.peer = -1;
    plan.call = call;
    event::fill(record, event::PlanKind::collective, plan);
    return record;
  }

  CollectivePlans join() {
    threads = collect(crafted.ring(), begin, end);
    return {crafted.ring(), clock_of(crafted.ring()), begin, end, threads};
  }
  std::size_t events() const {
    std::size_t count = 0;
    for (const ThreadEvents& each : threads) count += each.records.size();
    return count;
  }
  static std::uint64_t sequence_of(const CollectivePlans& plans, const Record& call) {
    const auto* joined = plans.of(call);
    return joined == nullptr ? UINT64_MAX : event::collective_plan_of(*joined->first).sequence;
  }

  CraftedRing crafted;
  ring::Chunk& thread = crafted.chunk_of(7, "python");
  ring::Chunk& others = crafted.chunk_of(8, "NCCL's own");
  std::uint32_t wrapped = crafted.communicator(0x123, 1, 4);
  std::uint32_t told_ = 0;
  std::vector<ThreadEvents> threads;
};

TEST_F(Plans, BelongToTheCallThatTheyName) {
  const Record& first = all_reduce(2000, 2100, 10);
  const Record& second = all_reduce(3000, 3100, 10);
  // In no order of time, of another thread.
  plan(others, 4000, 10, 8, correlation_of(crafted.ring(), first));
  plan(others, 3900, 10, 9, correlation_of(crafted.ring(), second));
  const CollectivePlans plans = join();
  EXPECT_EQ(sequence_of(plans, first), 8U);
  EXPECT_EQ(sequence_of(plans, second), 9U);
  EXPECT_EQ(events(), 2U);
}

TEST_F(Plans, OfCallsOutsideTheWindowAreNoEvents) {
  const Record& before = all_reduce(500, 600, 10);
  plan(thread, 1500, 10, 1, correlation_of(crafted.ring(), before));
  const CollectivePlans plans = join();
  EXPECT_EQ(events(), 0U);
  trace::JsonObject metadata;
  plans.describe(metadata);
  EXPECT_NE(metadata.text().find("\"of_calls_outside_the_window\": 1"), std::string::npos)
      << metadata.text();
}

TEST_F(Plans, OfACallInTheWindowAreJoinedAfterItsEnd) {
  const Record& call = all_reduce(8900, 9400, 10);
  plan(others, 9100, 10, 5, correlation_of(crafted.ring(), call));
  plan(others, 9200, 10, 6);  // names none and is not the window's
  EXPECT_EQ(sequence_of(join(), call), 5U);
  EXPECT_EQ(events(), 1U);
}

TEST_F(Plans, InAGroupGoByShapeFirstInFirstOut) {
  group(Function::ncclGroupStart, 1990, 1995);
  const Record& small = all_reduce(2000, 2010, 10, true);
  group(Function::ncclGroupStart, 2011, 2012);
  const Record& large = all_reduce(2020, 2030, 5000, true);
  group(Function::ncclGroupEnd, 2031, 2032);  // the inner one launches nothing
  const Record& small_again = all_reduce(2040, 2050, 10, true);
  group(Function::ncclGroupEnd, 2100, 2900);
  plan(thread, 2200, 5000, 0);
  plan(thread, 2300, 10, 1);
  plan(thread, 2400, 10, 2);
  const CollectivePlans plans = join();
  EXPECT_EQ(sequence_of(plans, large), 0U);
  EXPECT_EQ(sequence_of(plans, small), 1U);
  EXPECT_EQ(sequence_of(plans, small_again), 2U);
  EXPECT_EQ(events(), 7U);
}

TEST_F(Plans, AreNotTakenForCallsOfAnotherGroupOrCommunicator) {
  wrapped = crafted.communicator(0x999, 0, 1);  // of one rank: NCCL plans nothing for it
  group(Function::ncclGroupStart, 1990, 1995);
  const Record& alone = all_reduce(2000, 2010, 10, true);
  wrapped = crafted.communicator(0x777, 1, 4);
  const Record& of_first = all_reduce(2020, 2030, 10, true);
  group(Function::ncclGroupEnd, 2100, 2900);
  group(Function::ncclGroupStart, 2990, 2995);
  const Record& of_second = all_reduce(3000, 3010, 10, true);
  group(Function::ncclGroupEnd, 3100, 3900);
  plan(thread, 3200, 10, 4);
  const CollectivePlans plans = join();
  EXPECT_EQ(plans.of(alone), nullptr);
  EXPECT_EQ(plans.of(of_first), nullptr);
  EXPECT_EQ(sequence_of(plans, of_second), 4U);
}

TEST_F(Plans, AreEventsWhereNoWrapperSawTheCall) {
  const Record& told = plan(others, 2000, 10, 17);
  const CollectivePlans plans = join();
  ASSERT_EQ(threads.size(), 1U);
  EXPECT_EQ(threads[0].thread_id, 8U);
  ASSERT_EQ(threads[0].records.size(), 1U);
  const Record& shown = *threads[0].records[0];
  EXPECT_EQ(shown.layout, Layout::collective);
  EXPECT_EQ(shown.function, static_cast<std::uint16_t>(Function::ncclAllReduce));
  EXPECT_EQ(shown.begin_ticks.load(), 2000U);
  EXPECT_EQ(shown.end_ticks.load(), 2005U);
  EXPECT_EQ(shown.args[0], 10U);
  EXPECT_EQ(shown.args[1], 17U);
  EXPECT_EQ(&plans.in_ring(shown), &told);
  EXPECT_EQ(sequence_of(plans, shown), 17U);
  DoorCalls calls{};
  count_calls(threads, calls);
  plans.correct(calls);
  EXPECT_EQ(calls[static_cast<std::size_t>(ring::DoorId::nccl)], 0U);
  EXPECT_EQ(calls[static_cast<std::size_t>(ring::DoorId::nccl_plugin)], 1U);
}

TEST_F(Plans, PutAKernelsChannelToTheGpusTime) {
  const auto channel = [&](std::uint64_t seen, std::int64_t gpu_begin, std::int64_t gpu_end) {
    Record& record = crafted.add(others, Function::none, Layout::collective_plan, seen, seen + 50);
    event::PlanPart part{};
    part.channel = static_cast<std::uint32_t>(seen / 1000);
    part.communicator = told_;
    part.gpu_begin_ns = static_cast<std::uint64_t>(gpu_begin);
    part.gpu_end_ns = static_cast<std::uint64_t>(gpu_end);
    event::fill(record, event::PlanKind::kernel_channel, part);
  };
  channel(5000, epoch_ns + 4000, epoch_ns + 4700);
  channel(6000, 123, 456);  // a clock that is not the time of day
  const CollectivePlans plans = join();
  ASSERT_EQ(threads.size(), 2U);
  EXPECT_EQ(threads[0].thread_id, first_plan_lane);
  EXPECT_EQ(threads[0].records.at(0)->begin_ticks.load(), 4000U);
  EXPECT_EQ(threads[0].records.at(0)->end_ticks.load(), 4700U);
  EXPECT_EQ(threads[1].records.at(0)->begin_ticks.load(), 6000U);
  EXPECT_EQ(threads[1].records.at(0)->end_ticks.load(), 6050U);
}

}  // namespace
}  // namespace traceagent::drain
