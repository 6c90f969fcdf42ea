#pragma once

#include <string>

namespace traceagent::tools {

// What goes when a signal ends the process (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU,
// SIGALRM), which ends by that signal all the same. One that is ignored (nohup) stays so.

// One has come: what is guarded goes while other threads still work, and nothing that they make of
// it may take a name.
bool is_ending() noexcept;

// A folder that goes with the files in it; one at a time. `folder`: mkdtemp()'s, and what it made
// of that. False: see errno.
bool make_guarded_folder(std::string& folder);
void unguard_folder(const std::string& folder);

// The half-written file of the trace::OutputFile that this process writes to `output`; one at a
// time, while this lives.
class GuardedOutput {
 public:
  explicit GuardedOutput(const std::string& output);
  ~GuardedOutput();
  GuardedOutput(const GuardedOutput&) = delete;
  GuardedOutput& operator=(const GuardedOutput&) = delete;
};

}  // namespace traceagent::tools
