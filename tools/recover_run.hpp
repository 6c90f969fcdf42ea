#pragma once

#include <string>
#include <vector>

#include "agent/ring/private_workers.hpp"

namespace traceagent::tools {

struct RunRecovery {
  bool keep = false;  // the rings stay
  bool no_merge = false;
  bool any_size = false;
  bool is_keeper = false;   // nobody is there to start the uploads
  bool has_output = false;  // drain::use_output_folder() was told
};

// Writes what the rings of one run hold, joins its ranks' files, and says what came of it. The next
// run of its key may set the folder aside meanwhile. `rings`: the names of files in it. False where
// anything went wrong.
bool recover_run(const std::string& folder, std::vector<std::string> rings, const RunRecovery& how);

void tell_of_private_workers(const ring::PrivateKilled& killed);

}  // namespace traceagent::tools
