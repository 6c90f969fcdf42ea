#pragma once

#include <string>
#include <string_view>

namespace traceagent::tools {

struct AgentLibrary {
  std::string path;     // absolute
  std::string problem;  // one line when there is none, or none that can be preloaded
};

// libtraceagent.so: what TRACEAGENT_LIBRARY names, else beside this program (../lib and its kin).
AgentLibrary find_agent_library();

// The value of LD_PRELOAD with the library in front of what stands there (which is kept).
std::string joined_preload(const std::string& library, std::string_view present);

}  // namespace traceagent::tools
