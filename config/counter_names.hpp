#pragma once

#include <string>
#include <string_view>

namespace traceagent::config {

// What counters are sampled of.
struct CounterScopes {
  bool process = false;
  bool node = false;
  bool gpu = false;
};

struct ParsedCounters {
  CounterScopes scopes;
  std::string problem;  // empty: good
};

// "process, node, gpu". Nothing (YAML's []), or none, is the empty list.
ParsedCounters parse_counters(std::string_view text);

}  // namespace traceagent::config
