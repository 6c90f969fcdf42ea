#pragma once
// What becomes of a queued file, for the index of its run (agent/drain/run_index.hpp).

#include <string>

#include "agent/trace/json_object.hpp"
#include "tools/upload/delivery.hpp"

namespace traceagent::tools {

// In the index that its rank named or, of a file that was queued by hand, in each that tells of it.
// Returns one line of problem, or "".
std::string note_in_index(const std::string& folder, const Upload& upload,
                          const trace::JsonObject& entry);

// Of several nodes' indexes the joined one, when that of this one's was told of some.
// Returns one line of problem, or "".
std::string join_index(const std::string& folder, const Upload& upload);

}  // namespace traceagent::tools
