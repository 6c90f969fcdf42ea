// Any variables: NAME=value, one a line.
#include <string>
#include <vector>

#include "config/options.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/scratch.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace traceagent;
  fuzz::Input input(data, size);
  std::vector<std::string> lines;
  while (!input.empty()) {
    std::string line(input.take_until('\n'));
    // That names a file of this machine's.
    if (!line.starts_with("TRACEAGENT_CONFIG")) lines.push_back(std::move(line));
  }
  std::vector<const char*> variables;
  for (const std::string& line : lines) variables.push_back(line.c_str());
  variables.push_back(nullptr);
  const config::Loaded loaded = config::load(config::Environment(variables.data()));
  for (const config::Problem& problem : loaded.problems) fuzz::expect_one_line(problem.line);
  if (config::describe(loaded.options).empty()) fuzz::fail("no description");
  return 0;
}
