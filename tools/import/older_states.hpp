#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tools/import/foreign_file.hpp"
#include "tools/import/own_files.hpp"

namespace traceagent::tools {

struct OlderStates {
  std::string sources;  // JSON array; empty: none
  std::optional<std::int64_t> rank;
};

// What was imported of it before, when somebody who writes to it still had written less: those
// bytes are the first that it has now.
OlderStates older_states_of(ForeignFile& file, const OwnFiles& own);

}  // namespace traceagent::tools
