#include "agent/device/outstanding.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

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
    return outstanding_launches(own.ring(), clock, begin, end);
  }
  // Our own record of a call, which encloses what CUPTI tells of it.
  event::Record& host_call(event::Layout layout, std::uint64_t begin, int result = 0,
                           std::uint64_t stream = 0) {
    event::Record* record = ring::claim(ring::writer);
    record->layout = layout;
    record->result = result;
    record->args[2] = 1;
    record->args[3] = stream;
    record->end_ticks.store(begin + 20);
    ring::publish(*record, begin);
    return *record;
  }
  // A call into a stream of the job, as we and CUPTI saw it on this thread.
  void call_on(const char* name, event::Layout layout, std::uint64_t stream,
               std::uint32_t correlation, std::int64_t start, int result = 0) {
    host_call(layout, static_cast<std::uint64_t>(start) - 1, result, stream);
    call(name, correlation, start, result, static_cast<std::uint32_t>(gettid()));
  }

  static constexpr event::ClockAnchor anchor{0, 0, 0};
  const event::TickConverter clock{&anchor, 1, {1.0}};
  const std::uint32_t this_thread = static_cast<std::uint32_t>(gettid());
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

TEST_F(OutstandingTest, another_thread_may_end_a_capture) {
  call("cudaStreamBeginCapture", 1, 100);
  call("cudaLaunchKernel", 2, 110);
  call("cudaStreamEndCapture", 3, 120, 0, 2);
  call("cudaLaunchKernel", 4, 130);
  EXPECT_EQ(outstanding(), 1u);
}

TEST_F(OutstandingTest, captures_at_once_end_each_for_itself) {
  for (const std::uint64_t stream : {0x10u, 0x20u}) {
    call_on("cudaStreamBeginCapture", event::Layout::stream, stream, 1, 100 + 2 * stream);
  }
  call_on("cudaLaunchKernel", event::Layout::launch, 0x10, 2, 200);
  call_on("cudaStreamEndCapture", event::Layout::stream, 0x10, 3, 230);
  call("cudaLaunchKernel", 4, 260, 0, this_thread);
  call_on("cudaStreamEndCapture", event::Layout::stream, 0x20, 5, 290);
  EXPECT_EQ(outstanding(), 0u);
  call("cudaLaunchKernel", 6, 320, 0, this_thread);
  EXPECT_EQ(outstanding(), 1u);
}

TEST_F(OutstandingTest, a_capture_that_fails_has_ended) {
  call("cudaStreamBeginCapture", 1, 100);
  call("cuStreamBeginCapture", 1, 100);
  call("cudaStreamEndCapture", 2, 120, 901);
  call("cudaLaunchKernel", 3, 130);
  EXPECT_EQ(outstanding(), 1u);
  call("cudaStreamBeginCapture", 4, 140, 900);
  call("cudaLaunchKernel", 5, 150);
  EXPECT_EQ(outstanding(), 2u);
}

TEST_F(OutstandingTest, a_capture_whose_begin_is_lost_began_after_the_one_before) {
  call("cudaStreamBeginCapture", 1, 100);
  call("cudaStreamEndCapture", 2, 110);
  call("cudaLaunchKernel", 3, 130);
  call("cudaStreamEndCapture", 4, 140);
  call("cudaStreamEndCapture", 5, 150, 908);  // that of another thread, which goes on
  call("cudaLaunchKernel", 6, 160);
  EXPECT_EQ(outstanding(), 1u);
}

TEST_F(OutstandingTest, another_thread_may_launch_into_a_capture) {
  std::thread([&] {
    call_on("cudaStreamBeginCapture", event::Layout::stream, 0x10, 1, 100);
    call_on("cudaStreamEndCapture", event::Layout::stream, 0x10, 2, 400);
  }).join();
  call_on("cudaLaunchKernel", event::Layout::launch, 0x10, 3, 200);
  EXPECT_EQ(outstanding(), 0u);
  call_on("cudaLaunchKernel", event::Layout::launch, 0x20, 4, 250);
  call_on("cudaLaunchKernel", event::Layout::launch, 0x10, 5, 450);
  EXPECT_EQ(outstanding(), 2u);
}

TEST_F(OutstandingTest, a_copy_of_nothing_has_no_work) {
  call("cudaMemcpyAsync", 1, 101, 0, this_thread);
  EXPECT_EQ(outstanding(), 1u);
  host_call(event::Layout::copy, 100).args[2] = 0;
  EXPECT_EQ(outstanding(), 0u);
  call("cudaMemcpyAsync", 2, 151, 0, this_thread);
  host_call(event::Layout::copy, 150);
  call("cudaMemPrefetchAsync", 3, 181, 0, this_thread);
  EXPECT_EQ(outstanding(), 1u);
}

TEST_F(OutstandingTest, ids_may_begin_anew) {
  call("cudaLaunchKernel", 0xffff'fffe, 100);
  call("cudaLaunchKernel", 3, 110);
  EXPECT_EQ(outstanding(), 2u);
  work(3);
  EXPECT_EQ(outstanding(), 1u);
  work(0xffff'fffe);
  EXPECT_EQ(outstanding(), 0u);
}

TEST_F(OutstandingTest, a_thread_is_behind_until_its_last_call_was_told_of) {
  const auto behind = [&] { return threads_behind(own.ring(), clock, 0, 1000); };
  host_call(event::Layout::launch, 100, 0);
  host_call(event::Layout::launch, 200, 0);
  host_call(event::Layout::event, 300, 0);
  host_call(event::Layout::launch, 400, 1);
  host_call(event::Layout::launch, 1200, 0);
  EXPECT_EQ(behind(), 1u);
  call("cudaLaunchKernel", 1, 105, 0, this_thread);
  EXPECT_EQ(behind(), 1u);
  call("cudaLaunchKernel", 2, 216, 0, this_thread + 1);
  EXPECT_EQ(behind(), 1u);
  call("cudaLaunchKernel", 3, 215, 0, this_thread);
  EXPECT_EQ(behind(), 0u);
}

TEST_F(OutstandingTest, correlations_far_apart_are_not_worth_the_memory) {
  call("cudaLaunchKernel", 1, 100);
  call("cudaLaunchKernel", 4'000'000'000, 110);
  EXPECT_EQ(outstanding(), 0u);
}

}  // namespace
}  // namespace traceagent::device
