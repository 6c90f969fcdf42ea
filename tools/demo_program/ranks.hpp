#pragma once

#include <string>

namespace traceagent::demo {

/// Where this process stands among the others, as the launcher says.
struct Ranks {
  int rank = 0;
  int local_rank = 0;
  int size = 1;
  std::string launch;  // the same for all ranks of a launch, and for no other launch
};

Ranks read_ranks();

}  // namespace traceagent::demo
