#pragma once

#include <string>

namespace traceagent::tools {

// Removes from the folder what writers of trace files that were killed left half written: files of
// this user's under the names that trace::OutputFile gives, whose writer is dead, and which nobody
// has written to for a day: where the folder is shared with other hosts, the writer may be theirs.
// "" stands for the working folder. Returns how many went.
std::size_t remove_old_temporaries(const std::string& folder);

}  // namespace traceagent::tools
