#include "config/command_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace traceagent::config {
namespace {

TEST(CommandWords, a_plain_path_is_a_word_as_it_is) {
  EXPECT_EQ(shell_word("/dev/shm/traceagent-0/process-1.2/0-1.ring"),
            "/dev/shm/traceagent-0/process-1.2/0-1.ring");
  EXPECT_EQ(shell_word("s3://bucket/a=b,c@d%e+f"), "s3://bucket/a=b,c@d%e+f");
}

TEST(CommandWords, whatever_a_word_holds_is_taken_back_as_one) {
  for (const std::string text : {"", "my runs/out", "it's", "'", "a\"b", "$HOME", "a\\b", "*;|&",
                                 "~", "ein Übungslauf", "tab\there"}) {
    const CommandWords taken = split_command("traceagent merge " + shell_word(text) + " -o x");
    EXPECT_EQ(taken.problem, "");
    EXPECT_EQ(taken.words, (std::vector<std::string>{"traceagent", "merge", text, "-o", "x"}));
  }
}

}  // namespace
}  // namespace traceagent::config
