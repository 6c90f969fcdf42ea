#pragma once

#include <string>
#include <utility>
#include <vector>

// CLI11 is seconds of work for a compiler: only who parses includes it.
namespace CLI {
class App;
}  // namespace CLI

namespace traceagent::tools {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct RunOptions {
  std::string config = {};
  std::string schedule = {};
  std::string output = {};
  std::vector<std::string> sets = {};  // key=value
};

struct RunVariables {
  Variables variables;  // TRACEAGENT_NAME, value
  std::string problem;  // one line, or empty
};

// The variables that say the same as the options. An unknown key is a problem.
RunVariables variables_of(const RunOptions& options);

void add_run_options(CLI::App& app, RunOptions& options);

}  // namespace traceagent::tools
