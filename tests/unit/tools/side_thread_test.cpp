#include "tools/side_thread.hpp"

#include <gtest/gtest.h>

#include <atomic>

namespace traceagent::tools {
namespace {

TEST(SideThread, DoesOneThingAfterTheOther) {
  SideThread side;
  std::thread::id where;
  unsigned sum = 0;  // the thread's alone until wait()
  for (unsigned i = 1; i <= 1000; ++i) {
    side.begin([&, i] {
      sum = sum * 3 + i;
      where = std::this_thread::get_id();
    });
  }
  side.wait();
  unsigned wanted = 0;
  for (unsigned i = 1; i <= 1000; ++i) wanted = wanted * 3 + i;
  EXPECT_EQ(sum, wanted);
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(SideThread, EndsWithWhatItHasBegun) {
  std::atomic<bool> is_done = false;
  {
    SideThread().begin([&] { is_done = true; });
  }
  EXPECT_TRUE(is_done);
  SideThread idle;
  idle.wait();
}

}  // namespace
}  // namespace traceagent::tools
