#pragma once

#include <string>

namespace traceagent::tools {

// Of a file that is none of ours as we wrote it.
struct ForeignFinding {
  std::string line;  // what it is, and who reads it
  // It may be one of ours that is damaged: neither another program's trace nor other whole JSON.
  bool may_be_ours = false;
};
ForeignFinding look_at_foreign(const std::string& path);

}  // namespace traceagent::tools
