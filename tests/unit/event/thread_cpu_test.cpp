#include "agent/event/thread_cpu.hpp"

#include <gtest/gtest.h>

namespace traceagent::event {
namespace {

TEST(ThreadCpu, ADifferenceThatIsUnknownIsNone) {
  const std::uint64_t before_ns = thread_cpu_ns();
  ASSERT_GT(before_ns, 0U);
  volatile unsigned number = 1;
  for (int i = 0; i < 1'000'000; ++i) number = number * 3;
  EXPECT_GT(thread_cpu_since_ns(before_ns), 0U);
  EXPECT_EQ(thread_cpu_since_ns(0), 0U);           // it was refused before
  EXPECT_EQ(thread_cpu_since_ns(UINT64_MAX), 0U);  // now: 0 is less than any time
}

}  // namespace
}  // namespace traceagent::event
