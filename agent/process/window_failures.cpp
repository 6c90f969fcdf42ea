#include "agent/process/window_failures.hpp"

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "config/units.hpp"

namespace traceagent::process {

namespace {

// Without memory nobody knows who has said it: better twice than never, or the job's end.
bool may_say(const Agent& agent, const char* topic) noexcept try {
  return is_spokesman(agent, topic);
} catch (...) {
  return true;
}

}  // namespace

void WindowFailures::say_too_large(const std::string& path) {
  ++number_;
  if (!is_spokesman(agent_, "disk")) return;
  say_problem("budget.disk: " + config::show_bytes(agent_.options.budget_disk) + ": " + path +
              ": not written, since it would exceed it, and recording ends: raise it, or record "
              "fewer steps");
}

// Ranks of a node mostly share the reason: one of them says it, once.
void WindowFailures::say_failed(const std::string& problem) {
  if (++number_ == 1 && is_spokesman(agent_, "output")) {
    say_problem(problem);
  } else {
    say_detail(problem);
  }
}

void WindowFailures::say_over_memory_budget() noexcept {
  if (number_++ != 0 || !may_say(agent_, "memory")) return;
  say_problem(
      "budget.memory: a window of the schedule was not written, since that would exceed it: "
      "raise it, or record fewer steps");
}

void WindowFailures::say_out_of_memory() noexcept {
  if (++number_ != 1) return;
  say_problem(
      "out of memory: windows of the schedule are not written: raise the job's limit (ulimit -v) "
      "or lower TRACEAGENT_RING_SIZE");
}

}  // namespace traceagent::process
