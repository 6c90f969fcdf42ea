#include "agent/trace/waiting_uploads.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "agent/trace/delivery_lock.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

std::string waiting(const std::string& journal) {
  std::string text;
  for (const WaitingUpload& each : waiting_uploads(journal))
    text += each.id + ":" + each.file + " ";
  return text;
}

TEST(WaitingUploads, AreThoseOfWhichNothingIsTold) {
  const ScratchFolder folder;
  const std::string path = folder / "journal";
  EXPECT_EQ(waiting(path), "");
  std::ofstream journal(path);
  journal << R"({"compacted":"c","done":7,"removed":3,"left_out":2})"
          << "\n";
  for (const char* id : {"1", "2", "3", "4", "5"}) {
    journal << "\n{\"queue\": \"" << id << "\",\"file\":\"" << id << "\\\"\",\"target\":\"/x\"}\n";
  }
  journal
      << "\n{\"done\":\"2\",\"bytes\":1}\n\n{\"gone\":\"3\",\"left_out\":true}\n\n{\"done\":\"1\"";
  journal << "\n\n{\"done\":\"9\"}\n" << std::flush;
  EXPECT_EQ(waiting(path), R"(1:1\" 4:4\" 5:5\" )");
  // Told twice: it was on its way when it was left out.
  journal << "\n{\"done\":\"3\"}\n\n{\"gone\":\"4\",\"why\":\"w\"}\n" << std::flush;
  EXPECT_EQ(waiting(path), R"(1:1\" 5:5\" )");
  EXPECT_EQ(pending_uploads(path), 2u);
  // Queued again, it is the latest.
  journal << "\n{\"queue\":\"6\",\"file\":\"1\\\"\",\"target\":\"/x\"}\n" << std::flush;
  EXPECT_EQ(waiting(path), R"(5:5\" 6:1\" )");
}

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
