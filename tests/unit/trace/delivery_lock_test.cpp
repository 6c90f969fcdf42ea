#include "agent/trace/delivery_lock.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

TEST(DeliveryLock, IsOfOneWhoLeavesOutOrOfThoseWhoDeliver) {
  const ScratchFolder folder;
  const std::string path = folder / "file";
  std::ofstream(path) << "x";
  {
    const DeliveryLock delivers(path, DeliveryLock::Kind::deliver);
    EXPECT_TRUE(delivers.is_held());
    EXPECT_FALSE(DeliveryLock(path, DeliveryLock::Kind::leave_out).is_held());
    EXPECT_TRUE(DeliveryLock(path, DeliveryLock::Kind::deliver).is_held());
    EXPECT_FALSE(DeliveryLock(path, DeliveryLock::Kind::leave_out).is_held());
  }
  const DeliveryLock leaves_out(path, DeliveryLock::Kind::leave_out);
  EXPECT_TRUE(leaves_out.is_held());
  EXPECT_FALSE(DeliveryLock(path, DeliveryLock::Kind::deliver).is_held());
  EXPECT_TRUE(DeliveryLock(folder / "none", DeliveryLock::Kind::deliver).is_held());
}

}  // namespace
}  // namespace traceagent::trace
