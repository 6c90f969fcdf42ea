#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace traceagent::config {

struct CommandWords {
  std::vector<std::string> words;
  std::string problem;
};

// As a POSIX shell splits, less its variables and patterns.
CommandWords split_command(std::string_view text);

// So that a POSIX shell takes it for this one word: for commands that a user is told to type.
std::string shell_word(std::string_view text);

}  // namespace traceagent::config
