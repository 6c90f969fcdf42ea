#pragma once
// Where our own tools are, as they are built: bin/ beside lib/ or lib/<machine>/.
// What is there and could be another user's work is not run: the job may be root's, and the library
// a copy in a folder that everybody may write beside.

#include <sys/types.h>

#include <string>

namespace traceagent::process {

struct ToolPath {
  std::string path;     // "": none that may be run
  std::string problem;  // then: why, and what to do about it
};

// Of the library that this code is part of.
ToolPath find_tool(const char* name);

// Of a library at that path, all links followed; its owner is believed beside root and us.
ToolPath tool_beside(const std::string& library, uid_t owner, const char* name);

}  // namespace traceagent::process
