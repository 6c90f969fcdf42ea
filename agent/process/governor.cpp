#include "agent/process/governor.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/drain/governor_changes.hpp"
#include "agent/drain/own_cost.hpp"
#include "agent/event/own_heap.hpp"
#include "agent/event/thread_cpu.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/memory_budget.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/usable_cpus.hpp"
#include "config/step_mark.hpp"
#include "config/units.hpp"

namespace traceagent::process {

using ring::BudgetKind;
using step::CallClass;
using step::ClassMask;
using step::mask_of;

namespace {

// What a level of the door's budget leaves out of the record, and what step detection no longer
// hears. Where that was the steps, it makes slices of time, and says so. Ranges it always hears,
// and collectives nearly so: steps by these are those of other ranks, which may leave out nothing.
// Only a job whose collectives alone cost more than the budget loses them.
struct DoorLevel {
  ClassMask left_out;
  ClassMask unheard;
};
constexpr ClassMask bookkeeping = mask_of(CallClass::stream) | mask_of(CallClass::memory);
constexpr ClassMask waits_and_copies =
    mask_of(CallClass::synchronise) | mask_of(CallClass::copy) | bookkeeping;
constexpr ClassMask launches = mask_of(CallClass::launch) | waits_and_copies;
constexpr DoorLevel nothing_recorded = {step::all_classes, launches};
constexpr std::array<DoorLevel, 7> door_levels = {
    {{0, 0},
     {bookkeeping, 0},
     {waits_and_copies, 0},
     {launches, launches},
     {launches | step::range_classes, launches},
     nothing_recorded,
     {step::all_classes, launches | mask_of(CallClass::collective)}}};
static_assert(step::call_class_count == 8, "the bits of ring::LeftOut follow these");
constexpr std::uint32_t cpu_levels = 2;

// The calibration knows the floor: two tick reads and a store into warm memory. Measured, a hook
// takes 1.1 times that, three times where the caches are cold.
constexpr double calls_to_floor = 1.5;
// A call that is only heard of by step detection, until there is a sample.
constexpr double usual_ns_per_heard_call = 50;
// One that it knew beforehand (tests/bench/follow_bench.cpp).
constexpr double ns_per_passed_call = 3;
constexpr double millionth = 1e-6;

bool finds_steps(const config::Options& options) {
  using Kind = config::StepMark::Kind;
  return config::parse_step_mark(options.step_mark).mark.kind == Kind::automatic;
}

step::BudgetRules door_rules(const config::Options& options) {
  step::BudgetRules rules;
  rules.share = static_cast<double>(options.budget_overhead) * millionth;
  // Other marks' calls are heard to the end: what the user has named makes the steps.
  rules.levels = static_cast<uint32_t>(door_levels.size()) - (finds_steps(options) ? 1 : 2);
  rules.settle_ns = 1e8;  // some looks: the cost of a call that is only heard is sampled
  // Steps that are given up never come back, and one sample may be far off.
  if (finds_steps(options)) rules.last_settle_ns = rules.window_ns;
  return rules;
}

step::BudgetRules cpu_rules(const config::Options& options) noexcept {
  step::BudgetRules rules;
  rules.share = static_cast<double>(options.budget_overhead) * millionth;
  rules.levels = cpu_levels;
  rules.settle_ns = 2e9;  // what is left out of the next windows shows when they are written
  return rules;
}

step::Interest interest_in(ClassMask unheard) noexcept {
  step::Interest interest = 0;
  if ((unheard & mask_of(CallClass::launch)) != 0) interest |= step::interest_launches;
  if ((unheard & mask_of(CallClass::collective)) != 0) interest |= step::interest_collectives;
  return interest;
}

bool is_recording(step::State state) noexcept {
  return state == step::State::startup || state == step::State::warmup ||
         state == step::State::active;
}

std::uint32_t in_millionths(double share) noexcept {
  return static_cast<std::uint32_t>(std::clamp(share / millionth + 0.5, 0.0, 4e9));
}

std::string in_percent(double share) {
  constexpr std::uint64_t shown = 100;  // millionths: two digits behind the point
  return config::show_percent((in_millionths(share) + shown / 2) / shown * shown);
}

}  // namespace

std::uint64_t disk_room(const Agent& agent) noexcept {
  const std::uint64_t budget = agent.options.budget_disk;
  if (budget == 0) return UINT64_MAX;
  const std::uint64_t used =
      agent.ring.ring.header().governor.disk_bytes.load(std::memory_order_relaxed);
  return budget - std::min(budget, used);
}

Governor::Governor(Agent& agent)
    : agent_(agent),
      block_(agent.ring.ring.header().governor),
      door_(door_rules(agent.options)),
      cpu_(cpu_rules(agent.options)),
      thread_(step::BudgetRules{}),
      following_(step::BudgetRules{}),
      calls_(agent.ring.ring),
      ns_per_tick_(agent.ring.ring.header().nominal_ns_per_tick),
      ns_per_event_(drain::measured_ns_per_event(ns_per_tick_) * calls_to_floor),
      ns_per_heard_call_(usual_ns_per_heard_call),
      cpus_(usable_cpus(agent.identity.local_world_size, agent.cpu_quota)),
      finds_steps_(finds_steps(agent.options)) {
  const std::int64_t limit_bytes =
      heap_limit_bytes(agent.options, agent.ring.ring.header().file_bytes);
  // A forked child has what its parent's agent held too, and never gives it back.
  const std::int64_t inherited_bytes =
      event::own_heap.inherited_bytes.load(std::memory_order_relaxed);
  event::own_heap.limit_bytes.store(
      limit_bytes > INT64_MAX - inherited_bytes ? INT64_MAX : limit_bytes + inherited_bytes,
      std::memory_order_relaxed);
  block_.budget_millionths.store(static_cast<std::uint32_t>(agent.options.budget_overhead),
                                 std::memory_order_relaxed);
  block_.ns_per_1000_events.store(static_cast<std::uint32_t>(ns_per_event_ * 1000),
                                  std::memory_order_relaxed);
}

double Governor::followed_cost_ns() noexcept {
  const step::Tracker::Heard heard = agent_.tracker->heard_since_last();
  if (heard.ticks_per_call > 0) ns_per_heard_call_ = heard.ticks_per_call * ns_per_tick_;
  return static_cast<double>(heard.busiest) * ns_per_heard_call_ +
         static_cast<double>(heard.passed) * ns_per_passed_call;
}

double Governor::recorded_cost_ns() noexcept {
  const bool is_on = is_recording(agent_.windows->state());
  // Once more after it has ended. Looking at a ring that nobody writes would be a cost of its own.
  const bool is_looked_at = is_on || was_recording_;
  was_recording_ = is_on;
  return is_looked_at ? static_cast<double>(calls_.busiest_since_last()) * ns_per_event_ : 0;
}

// Steps that the user has named are followed whatever is left out. Where that alone is beyond the
// budget (a window at each of very short ones), leaving out all calls would not keep it, and they
// would never come back: they are left out for what they cost themselves.
double Governor::door_cost_ns(std::uint64_t now_ns) noexcept {
  const double recorded_ns = recorded_cost_ns(), followed_ns = followed_cost_ns();
  following_.look(now_ns, followed_ns);
  thread_.look(now_ns, recorded_ns + followed_ns);
  const double share = static_cast<double>(agent_.options.budget_overhead) * millionth;
  const bool is_in_vain = !finds_steps_ && following_.recent_share() > share;
  return is_in_vain ? recorded_ns : recorded_ns + followed_ns;
}

double Governor::own_cpu_cost_ns() noexcept {
  const std::uint64_t drain_ns = event::thread_cpu_ns();
  if (drain_ns == 0) return 0;  // the clock is refused
  const std::uint64_t now_ns = drain_ns + agent_.device.own_cpu_ns() + agent_.counters.own_cpu_ns();
  // What was spent before the first look is the price of the start, however short the job.
  const std::uint64_t before_ns = std::exchange(cpu_before_ns_, now_ns);
  if (before_ns == 0) return 0;
  const std::uint64_t spent_ns = now_ns - std::min(now_ns, before_ns);
  return static_cast<double>(spent_ns) / cpus_;
}

void Governor::look(std::uint64_t now_ns) noexcept {
  const bool door_changed = door_.look(now_ns, door_cost_ns(now_ns));
  const bool cpu_changed = cpu_.look(now_ns, own_cpu_cost_ns());
  block_.thread_millionths.store(in_millionths(thread_.recent_share()), std::memory_order_relaxed);
  block_.own_cpu_millionths.store(in_millionths(cpu_.recent_share()), std::memory_order_relaxed);
  block_.heap_bytes.store(
      static_cast<std::uint64_t>(event::own_heap.most_bytes.load(std::memory_order_relaxed)),
      std::memory_order_relaxed);
  if (is_stopped_) return;
  if (door_changed) apply(BudgetKind::door);
  if (cpu_changed) apply(BudgetKind::cpu);
}

void Governor::stop(BudgetKind kind) noexcept {
  if (is_stopped_) return;
  is_stopped_ = true;
  apply(kind);
}

void Governor::note_written(std::uint64_t bytes, std::uint64_t replaced_bytes) noexcept {
  const std::uint64_t before = block_.disk_bytes.load(std::memory_order_relaxed);
  // Modulo 2^64, in one change: a load and a store would undo what is taken off between them.
  block_.disk_bytes.fetch_add(bytes - std::min(before, replaced_bytes), std::memory_order_relaxed);
}

void Governor::note_window_left_out() noexcept {
  block_.windows_left_out.fetch_add(1, std::memory_order_relaxed);
}

void Governor::apply(BudgetKind kind) noexcept {
  DoorLevel door = door_levels[door_.level()];
  // Where the disk is full steps are heard on: by them the windows are counted that are left out.
  if (is_stopped_) door.left_out = step::all_classes;
  left_out_ = door.left_out;
  if (is_stopped_ || cpu_.level() >= 1) left_out_ |= ring::left_out_device;
  if (is_stopped_ || cpu_.level() >= 2) left_out_ |= ring::left_out_windows;
  agent_.tracker->leave_out(interest_in(door.unheard));
  agent_.windows->leave_out(door.left_out, door.unheard);
  agent_.device.leave_out((left_out_ & ring::left_out_device) != 0,
                          (left_out_ & ring::left_out_windows) != 0);
  note(kind);
  try {
    say(kind);
  } catch (...) {
    say_problem("budget.overhead: the trace leaves something out: it says what");
  }
}

void Governor::note(BudgetKind kind) noexcept {
  const std::uint32_t count = block_.change_count.load(std::memory_order_relaxed);
  ring::BudgetChange& change = block_.changes[count % ring::budget_change_slots];
  change.kind = kind;
  change.level = kind == BudgetKind::cpu ? cpu_.level() : door_.level();
  change.left_out = left_out_;
  change.measured_millionths = 0;
  if (kind == BudgetKind::door) change.measured_millionths = in_millionths(door_.spent_share());
  if (kind == BudgetKind::cpu) change.measured_millionths = in_millionths(cpu_.spent_share());
  change.ticks.store(event::read_ticks(), std::memory_order_relaxed);
  // Release: whoever sees the count sees the change, also after a kill.
  block_.change_count.store(count + 1, std::memory_order_release);
}

void Governor::say(BudgetKind kind) {
  const bool is_door = kind == BudgetKind::door;
  if (kind != BudgetKind::door && kind != BudgetKind::cpu) return;  // said by who stops us
  const step::Budget& budget = is_door ? door_ : cpu_;
  const std::string line =
      "rank " + std::to_string(agent_.identity.rank) + ": the agent costs " +
      in_percent(budget.spent_share()) + " of " +
      (is_door ? "the busiest thread's time" : "the CPUs") + ", budget.overhead is " +
      in_percent(static_cast<double>(agent_.options.budget_overhead) * millionth) + ": " +
      (left_out_ == 0 ? "everything is recorded again"
                      : "it leaves out " + drain::names_of(left_out_));
  // Ranks mostly do alike: one of them says it, once. The files have every change.
  if (!has_spoken_ && is_spokesman(agent_, "governor")) {
    say_result(line);
  } else {
    say_detail(line);
  }
  has_spoken_ = true;
}

}  // namespace traceagent::process
