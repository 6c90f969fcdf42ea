#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace traceagent::tools {

struct ChildEnd {
  int error_number = 0;  // why it could not be started, or its end is not known
  bool in_time = true;   // false: it was ended, with its process group
  int status = 0;        // as wait tells it
  std::string said;      // on its standard output where that is wanted: the first 64 KiB

  bool is_success() const noexcept { return error_number == 0 && in_time && status == 0; }
  // "exit code 3", "signal 9", …; empty: all is well.
  std::string problem() const;
};

// A command of the user's, looked up in PATH, with the environment of the job and the usual
// signals. After `limit` it is ended with all that it started; at a terminal, where it may ask for
// a password and shares our process group, alone.
ChildEnd run_child(std::vector<std::string> words, std::chrono::nanoseconds limit,
                   bool wants_output = false);

}  // namespace traceagent::tools
