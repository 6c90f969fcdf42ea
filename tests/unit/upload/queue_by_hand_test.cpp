#include "tools/upload/queue_by_hand.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace traceagent::tools {
namespace {

const std::vector<std::filesystem::path> two_files = {"/traces/a.json", "/traces/b.json"};

// Why there are no targets; empty: there are.
std::string refusal_of(const std::string& to) {
  testing::internal::CaptureStderr();
  const bool is_refused = !targets_of(two_files, to);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_EQ(is_refused, !said.empty()) << said;
  return said;
}

TEST(QueueByHand, SeveralFilesHaveNamesOfTheirOwn) {
  EXPECT_EQ(refusal_of("s3://traces/x.json"),
            "traceagent: --to: s3://traces/x.json: one name for several files: end it with /\n");
  EXPECT_EQ(refusal_of("s3://traces/"), "");
}

// Whatever its last word is.
TEST(QueueByHand, ACommandIsRunForEachFile) {
  EXPECT_EQ(refusal_of("exec:put {} --key-file cfg.json"), "");
  const auto all = targets_of(two_files, "exec:put {} --key-file cfg.json");
  ASSERT_TRUE(all && all->size() == 2);
  EXPECT_EQ((*all)[1].target.words,
            (std::vector<std::string>{"put", "{}", "--key-file", "cfg.json"}));
}

// The others may be a password.
TEST(QueueByHand, OfACommandTheFirstWordIsTold) {
  EXPECT_EQ(refusal_of("exec:put -p 'secret"),
            "traceagent: --to: exec:put ...: a quote has no end\n");
}

}  // namespace
}  // namespace traceagent::tools
