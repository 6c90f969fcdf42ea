#include "tools/check_foreign.hpp"

#include "tools/import/foreign_file.hpp"

namespace traceagent::tools {

ForeignFinding look_at_foreign(const std::string& path) {
  ForeignFile file(path, "", 0);
  file.peek();
  if (!file.report().is_trace) return {file.report().problem, !file.report().is_other_json};
  const std::string line = "not a trace of TraceAgent's: " + path;
  if (!file.is_ours()) {
    return {line +
            ": another program's, which traceagent merge reads and check does not: check what a "
            "merge makes of it"};
  }
  return {line +
              " as it was written: another program has saved it, or its beginning is damaged: "
              "traceagent merge " +
              path + " -o NEW makes a trace of it",
          true};
}

}  // namespace traceagent::tools
