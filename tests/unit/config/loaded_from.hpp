#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"
#include "tests/unit/config/variables.hpp"

namespace traceagent::config {

using Lines = std::vector<std::string>;

inline Lines lines_of(const Loaded& loaded) {
  Lines lines;
  for (const Problem& problem : loaded.problems) lines.push_back(problem.line);
  return lines;
}

inline Loaded from_yaml(std::string_view text, std::initializer_list<std::string> variables = {}) {
  const Variables environment(variables);
  return load_text("job.yaml", text, environment.environment());
}

inline Loaded from_variables(std::initializer_list<std::string> variables) {
  const Variables environment(variables);
  return load(environment.environment());
}

}  // namespace traceagent::config
