#include "agent/device/outstanding.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/unit/device/crafted_records.hpp"

namespace traceagent::device {
namespace {

class OutstandingTest : public testing::Test {
 protected:
  template <class Fields>
  void put(const Fields& fields) {
    event::Record* record = ring::claim(ring::writer);
    event::fill(*record, fields);
    record->end_ticks.store(1);
    ring::publish(*record, 1);
  }
  void call(const char* name, std::uint32_t correlation, std::int64_t start, int result = 0,
            std::uint32_t thread = 1) {
    put(event::ApiCall{false, thread, own.ring().add_name(name), result, start, start + 1,
                       correlation});
  }
  void work(std::uint32_t correlation) {
    put(event::DeviceWork{event::DeviceKind::kernel, 0, 1, 7, 0, 500, 600, correlation, 0, 0});
  }
  std::uint64_t outstanding(std::int64_t begin = 0, std::int64_t end = 1000) {
    return outstanding_launches(own.ring(), begin, end);
  }
  OwnRing own;
};

TEST_F(OutstandingTest, launches_until_their_work_is_there) {
  EXPECT_EQ(outstanding(), 0u);
  call("cudaLaunchKernel", 10, 100);
  call("cudaMemcpyAsync", 11, 110);
  call("cudaStreamSynchronize", 12, 120);
  EXPECT_EQ(outstanding(), 2u);
  work(11);
  work(4'000'000'000);
  EXPECT_EQ(outstanding(), 1u);
  work(10);
  EXPECT_EQ(outstanding(), 0u);
}

TEST_F(OutstandingTest, only_those_of_the_window_that_succeeded) {
  call("cudaLaunchKernel", 10, 100);
  call("cudaLaunchKernel", 11, 200);
  call("cudaLaunchKernel", 12, 300);
  call("cudaLaunchKernel", 13, 250, 700);
  EXPECT_EQ(outstanding(200, 300), 1u);
}

TEST_F(OutstandingTest, a_captured_launch_has_no_work) {
  call("cudaStreamBeginCapture", 1, 100);
  call("cudaLaunchKernel", 2, 110);
  call("cudaLaunchKernel", 3, 115, 0, 2);  // another thread's
  call("cudaStreamEndCapture", 4, 120);
  call("cudaGraphLaunch", 5, 130);
  EXPECT_EQ(outstanding(), 2u);
  work(5);
  work(3);
  EXPECT_EQ(outstanding(), 0u);
}

TEST_F(OutstandingTest, a_thread_is_behind_until_its_last_call_was_told_of) {
  const event::ClockAnchor anchor{0, 0, 0};
  const event::TickConverter clock(&anchor, 1, {1.0});
  const auto behind = [&] { return threads_behind(own.ring(), clock, 0, 1000); };
  const auto host_call = [&](event::Layout layout, std::uint64_t begin, int result) {
    event::Record* record = ring::claim(ring::writer);
    record->layout = layout;
    record->result = result;
    record->end_ticks.store(begin + 20);
    ring::publish(*record, begin);
  };
  const auto thread = static_cast<std::uint32_t>(gettid());
  host_call(event::Layout::launch, 100, 0);
  host_call(event::Layout::launch, 200, 0);
  host_call(event::Layout::event, 300, 0);
  host_call(event::Layout::launch, 400, 1);
  host_call(event::Layout::launch, 1200, 0);
  EXPECT_EQ(behind(), 1u);
  call("cudaLaunchKernel", 1, 105, 0, thread);
  EXPECT_EQ(behind(), 1u);
  call("cudaLaunchKernel", 2, 216, 0, thread + 1);
  EXPECT_EQ(behind(), 1u);
  call("cudaLaunchKernel", 3, 215, 0, thread);
  EXPECT_EQ(behind(), 0u);
}

TEST_F(OutstandingTest, correlations_far_apart_are_not_worth_the_memory) {
  call("cudaLaunchKernel", 1, 100);
  call("cudaLaunchKernel", 4'000'000'000, 110);
  EXPECT_EQ(outstanding(), 0u);
}

}  // namespace
}  // namespace traceagent::device
