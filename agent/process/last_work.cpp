#include "agent/process/last_work.hpp"

#include <unistd.h>

#include <algorithm>

#include "agent/drain/run_index.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/node_merge.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/uploads.hpp"

namespace traceagent::process {
namespace {

// Of the schedule: the startup window, where there is one, was the first.
std::uint32_t windows_opened(const Agent& agent) noexcept {
  const ring::Header& header = agent.ring.ring.header();
  const std::uint32_t all = header.window_count.load(std::memory_order_relaxed);
  return all - std::min<std::uint32_t>(all, header.windows[0].is_startup != 0 ? 1 : 0);
}

// Where whole cycles were lost say_cycles_lost() tells why.
void say_no_window(const Agent& agent) {
  const std::uint64_t steps = agent.ring.ring.header().step_count.load(std::memory_order_relaxed);
  if (!agent.speaks_for_node() || steps == 0 || agent.windows->cycles_lost() != 0) return;
  say_result("no trace: the program ended at step " + std::to_string(steps) +
             ", before the schedule's first active step was over: lower schedule.skip_first, "
             "wait or warmup");
}

// A schedule that never came into play because its steps were not found must not look like success.
void say_no_step(const Agent& agent) {
  const ring::Header& header = agent.ring.ring.header();
  const std::uint32_t why = header.windows[0].is_startup;
  if (!agent.speaks_for_node() || why == 0 || windows_opened(agent) != 0) return;
  const char* const cut = why == ring::startup_until_full       ? ", what fitted into half the ring"
                          : why == ring::startup_until_patience ? ", as long as step.patience"
                                                                : "";
  say_result("no step was found (step.mark: " + agent.options.step_mark +
             "): the trace holds the program's beginning" + cut +
             ", whatever the schedule says: name the steps (step.mark: nvtx:NAME or "
             "call:FUNCTION), or run for longer");
}

std::string cycles(std::uint64_t count) {
  return std::to_string(count) + (count == 1 ? " cycle" : " cycles");
}

// Slices of time pass while the agent itself starts: the first cycle's, or its first ones.
bool is_lost_in_start(const Agent& agent) noexcept {
  const std::uint64_t lost = agent.windows->cycles_lost();
  return agent.options.step_mark.starts_with("every:") &&
         windows_opened(agent) == (lost == 0 ? 1 : 0);
}

void say_cycles_lost(const Agent& agent) {
  const std::uint64_t lost = agent.windows->cycles_lost();
  const std::uint64_t late = agent.windows->cycles_begun_late();
  if (lost + late == 0) return;
  const std::string late_ones = lost == 0 ? cycles(late) : std::to_string(late) + " more";
  const std::string why =
      is_lost_in_start(agent)
          ? ": step.mark: " + agent.options.step_mark +
                ": slices of time begin with the first call, and passed while the agent started: "
                "raise schedule.skip_first or schedule.active"
          : ": they came faster than they could be written, or the agent's thread had no CPU: "
            "raise schedule.wait or schedule.active";
  const bool has_no_file = agent.written.files == 0 && windows_opened(agent) == 0;
  say_result(
      (has_no_file ? "no trace: rank " : "rank ") + std::to_string(agent.identity.rank) + ": " +
      (lost == 0 ? ""
                 : cycles(lost) + " of the schedule " + (lost == 1 ? "was" : "were") + " lost") +
      (lost == 0 || late == 0 ? "" : ", and ") +
      (late == 0 ? "" : "the first steps of " + late_ones + " were lost") + why);
}

// What others kept from the run's index until now. Who joins the nodes' indexes has perhaps done
// so.
void finish_index(Agent& agent) {
  if (agent.index_queue.is_empty()) return;
  std::string problem = agent.index_queue.finish();
  if (problem.empty()) problem = drain::index_joined(agent.ring.ring);
  if (!problem.empty() && is_spokesman(agent, "index")) say_problem(problem);
}

std::uint64_t windows_left_out(const Agent& agent) noexcept {
  return agent.ring.ring.header().governor.windows_left_out.load(std::memory_order_relaxed);
}

void say_windows_left_out(const Agent& agent) {
  const std::uint64_t windows = windows_left_out(agent);
  if (windows == 0) return;
  say_result("rank " + std::to_string(agent.identity.rank) + ": " + std::to_string(windows) +
             " windows of the schedule were left out: they would have cost more than the budget: "
             "see budget.overhead, budget.memory and budget.disk");
}

// Where others merge it stays until they have, and they read no record of it. Not where threads may
// have overwritten a call that still runs: at its end it looks whether its place is its own.
void give_back_ring(const Agent& agent) noexcept {
  const ring::CreatedRing& own = agent.ring;
  if (agent.options.ring_full == "overwrite") return;
  if (own.path.empty() || ring::has_unwritten_window(own.ring)) return;
  if (access(own.path.c_str(), F_OK) == 0) ring::give_back_memory(own.ring);
}

}  // namespace

void do_last_work(Agent& agent, WindowWriter& writer) noexcept try {
  // Once more as usual, so that what just closed is not cut; then whatever is still open.
  writer.poll();
  agent.device.finish(agent.options.exit_timeout / 2);
  agent.event_times.finish(agent);
  agent.windows->finish(event::read_ticks());
  agent.counters.finish(agent);
  writer.write_last();
  // Before others may join it: nobody does after the last of them
  // (tests/process/two_nodes_test.py).
  finish_index(agent);
  agent.ring.ring.header().finished.store(writer.lists_all() ? 1 : 2, std::memory_order_seq_cst);
  ring::finish_private_worker(agent.private_place);
  const bool is_without_reason =
      agent.written.files + writer.failures() + windows_left_out(agent) == 0;
  if (is_without_reason) say_no_window(agent);
  if (agent.written.files != 0) say_no_step(agent);
  say_cycles_lost(agent);
  say_windows_left_out(agent);
  writer.keep_unwritten();
  finish_index(agent);
  finish_node(agent);
  finish_index(agent);
  finish_uploads(agent);
  give_back_ring(agent);
} catch (...) {
  say_problem("out of memory at the end: the ring stays in memory for `traceagent recover`");
}

}  // namespace traceagent::process
