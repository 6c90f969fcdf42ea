#pragma once
// Keeps the agent within its budgets: measures what it costs, leaves out what costs most of what is
// least wanted, and says so in the ring, from where every trace file has it.

#include <cstdint>

#include "agent/drain/published_calls.hpp"
#include "agent/ring/layout.hpp"
#include "agent/step/budget.hpp"
#include "agent/step/state.hpp"

namespace traceagent::process {

struct Agent;

// Bytes that the process may still write into files, by budget.disk.
std::uint64_t disk_room(const Agent& agent) noexcept;

// The drain thread's, but where said otherwise.
class Governor {
 public:
  explicit Governor(Agent& agent);

  // A few times a second.
  void look(std::uint64_t now_ns) noexcept;

  // What passes between two looks is spent before it is known.
  bool wants_close_looks() const noexcept { return door_.is_drawn_on(); }
  // The threads' budget is spent: a closed window is written later, where the ring has room for it.
  bool is_short_of_cpu() const noexcept { return cpu_.is_empty(); }
  // … and not even that, where it has none.
  bool may_leave_out_windows() const noexcept { return (left_out_ & ring::left_out_windows) != 0; }
  void note_window_left_out() noexcept;

  void note_written(std::uint64_t bytes, std::uint64_t replaced_bytes) noexcept;
  // For good: no file may be written any more.
  void stop(ring::BudgetKind kind) noexcept;
  bool is_stopped() const noexcept { return is_stopped_; }

 private:
  double recorded_cost_ns() noexcept;
  double followed_cost_ns() noexcept;
  double door_cost_ns(std::uint64_t now_ns) noexcept;
  double own_cpu_cost_ns() noexcept;
  void apply(ring::BudgetKind kind) noexcept;
  void note(ring::BudgetKind kind) noexcept;
  void say(ring::BudgetKind kind);

  Agent& agent_;
  ring::GovernorBlock& block_;
  step::Budget door_;
  step::Budget cpu_;
  step::Budget thread_;     // measured alone: all that the busiest thread spends
  step::Budget following_;  // of it, what following the steps takes
  drain::PublishedCalls calls_;
  const double ns_per_tick_;
  const double ns_per_event_;
  double ns_per_heard_call_;
  const double cpus_;
  const bool finds_steps_;
  std::uint64_t cpu_before_ns_ = 0;
  ring::LeftOut left_out_ = 0;
  bool was_recording_ = true;
  bool is_stopped_ = false;
  bool has_spoken_ = false;
};

}  // namespace traceagent::process
