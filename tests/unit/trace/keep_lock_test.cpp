// Locks of this kind are of a process: each test asks in a child, too.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "agent/trace/upload_journal.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

constexpr auto exclusive = FileLock::Kind::exclusive;
constexpr auto shared = FileLock::Kind::shared;

bool is_so_in_another_process(const std::function<bool()>& condition) {
  const pid_t child = fork();
  if (child == 0) _exit(condition() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status == 0;
}

class KeepLock : public testing::Test {
 protected:
  bool others_may_remove(std::optional<std::int64_t> process) const {
    return is_so_in_another_process(
        [&] { return removal_lock(folder_.path(), process).try_lock(exclusive); });
  }
  bool others_may_merge() const {
    return is_so_in_another_process([&] { return merge_lock(folder_.path()).try_lock(shared); });
  }

  const ScratchFolder folder_;
};

TEST_F(KeepLock, WhoRemovesKeepsOutNobodyElseWhoDoes) {
  FileLock removal = removal_lock(folder_.path(), 3);
  ASSERT_TRUE(removal.try_lock(exclusive));
  EXPECT_TRUE(others_may_remove(2));
  EXPECT_TRUE(others_may_remove(4));
  EXPECT_TRUE(others_may_remove(0));
  EXPECT_TRUE(others_may_remove({}));
  EXPECT_FALSE(others_may_remove(3));
  EXPECT_FALSE(others_may_merge());
}

TEST_F(KeepLock, ProcessesWithHugeNumbersMayRemove) {
  for (const std::int64_t process : {std::int64_t{-1}, std::int64_t{1} << 40, INT64_MAX}) {
    EXPECT_TRUE(removal_lock(folder_.path(), process).try_lock(exclusive)) << process;
  }
}

TEST_F(KeepLock, WhoMergesKeepsOutAllWhoRemoveAndNobodyWhoMerges) {
  FileLock merge = merge_lock(folder_.path());
  ASSERT_TRUE(merge.try_lock(shared));
  EXPECT_FALSE(others_may_remove(0));
  EXPECT_FALSE(others_may_remove(4'000'000));
  EXPECT_FALSE(others_may_remove({}));
  EXPECT_TRUE(others_may_merge());
  EXPECT_TRUE(merge.try_upgrade());
  EXPECT_FALSE(others_may_merge());
}

}  // namespace
}  // namespace traceagent::trace
