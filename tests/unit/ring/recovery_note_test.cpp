#include "agent/ring/recovery_note.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::ring {
namespace {

class RecoveryNoteTest : public testing::Test {
 protected:
  // What another process sees.
  bool can_other_take(std::uint32_t expected_holder = 0) const {
    const pid_t child = fork();
    if (child == 0) {
      RecoveryNote note(folder);
      const bool is_taken = note.take();
      _exit(is_taken ? 0 : note.holder() == expected_holder ? 1 : 2);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_NE(WEXITSTATUS(status), 2) << "another holder";
    return WEXITSTATUS(status) == 0;
  }

  trace::ScratchFolder scratch;
  const std::string folder = scratch.path().string();
  const std::string file = folder + "/recovering";
};

TEST_F(RecoveryNoteTest, OneHasItAndTheOthersSeeWho) {
  {
    RecoveryNote note(folder);
    ASSERT_TRUE(note.take());
    EXPECT_FALSE(can_other_take(static_cast<std::uint32_t>(getpid())));
    EXPECT_TRUE(std::filesystem::exists(file)) << "who has it not leaves it";
  }
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_TRUE(can_other_take());
}

TEST_F(RecoveryNoteTest, OfOneThatWasKilledIsTaken) {
  const pid_t child = fork();
  if (child == 0) _exit((new RecoveryNote(folder))->take() ? 0 : 1);
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(std::filesystem::exists(file));
  EXPECT_TRUE(RecoveryNote(folder).take());
}

TEST_F(RecoveryNoteTest, NobodyHasItWhereItCannotBe) {
  EXPECT_TRUE(RecoveryNote(folder + "/missing").take());
}

}  // namespace
}  // namespace traceagent::ring
