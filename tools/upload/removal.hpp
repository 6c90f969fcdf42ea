#pragma once

#include <string>

#include "tools/upload/delivery.hpp"

namespace traceagent::tools {

// What became of a file that output.keep lets go. `problem`: the run's index could not be told.
struct Removal {
  bool is_gone = false;
  std::string problem;
};

// Not where another has the name since: its rank may not have queued that one yet.
Removal remove_uploaded(const std::string& folder, const Upload& upload);

}  // namespace traceagent::tools
