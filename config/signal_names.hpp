#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace traceagent::config {

struct ParsedSignals {
  std::vector<int> numbers;  // of <csignal>, in the order given
  std::string problem;       // empty: good
};

// "TERM, INT" or "SIGTERM": only signals that end a program by default and that people and
// schedulers send for that purpose. Nothing is the empty list.
ParsedSignals parse_signals(std::string_view text);

}  // namespace traceagent::config
