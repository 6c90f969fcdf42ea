#include "agent/drain/governor_changes.hpp"

#include <algorithm>

#include "agent/event/own_heap.hpp"
#include "config/units.hpp"

namespace traceagent::drain {

using ring::BudgetKind;
using ring::LeftOut;
using trace::JsonArray;
using trace::JsonObject;

namespace {

constexpr double millionths_per_percent = 1e4;
constexpr LeftOut known = (LeftOut{1} << ring::left_out_names.size()) - 1;

std::string in_percent(std::uint32_t millionths) {
  constexpr std::uint64_t shown = 100;  // two digits behind the point
  return config::show_percent((millionths + shown / 2) / shown * shown);
}

const char* name_of(BudgetKind kind) noexcept {
  const auto index = static_cast<std::size_t>(kind);
  return index < ring::budget_kind_count ? ring::budget_names[index] : "unknown";
}

JsonArray names_array(LeftOut left_out) {
  JsonArray names;
  for (std::size_t i = 0; i < ring::left_out_names.size(); ++i) {
    if ((left_out >> i & 1) != 0) names.add(ring::left_out_names[i]);
  }
  return names;
}

JsonObject change_object(const GovernorChange& change, const event::TickConverter& clock) {
  JsonObject object;
  object.add("at_ns", clock.realtime_ns(change.ticks))
      .add("because", name_of(change.kind))
      .add("level", change.level)
      .add("left_out", names_array(change.left_out));
  if (change.measured_millionths != 0) {
    object.add("measured_percent", change.measured_millionths / millionths_per_percent);
  }
  return object;
}

}  // namespace

std::vector<GovernorChange> governor_changes(const ring::Ring& ring) {
  const ring::GovernorBlock& block = ring.header().governor;
  const std::uint32_t count = block.change_count.load(std::memory_order_acquire);
  const std::uint32_t kept = std::min<std::uint32_t>(count, ring::budget_change_slots);
  std::vector<GovernorChange> changes;
  LeftOut before = 0;
  for (std::uint32_t i = 0; i < kept; ++i) {
    const ring::BudgetChange& slot = block.changes[(count - kept + i) % ring::budget_change_slots];
    const LeftOut left_out = slot.left_out & known;
    // Of the oldest that is left nobody knows what it changed: it tells what was before the next.
    const bool is_change = i > 0 || kept == count;
    if (is_change)
      changes.push_back({slot.ticks.load(std::memory_order_relaxed), slot.kind, slot.level,
                         left_out, before, slot.measured_millionths});
    before = left_out;
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const auto& a, const auto& b) { return a.ticks < b.ticks; });
  return changes;
}

std::string names_of(LeftOut left_out) {
  std::string names;
  for (std::size_t i = 0; i < ring::left_out_names.size(); ++i) {
    if ((left_out >> i & 1) == 0) continue;
    names += (names.empty() ? "" : ", ") + std::string(ring::left_out_names[i]);
  }
  return names;
}

std::string name_of(const GovernorChange& change, std::uint32_t budget_millionths) {
  const LeftOut added = change.left_out & ~change.left_out_before;
  const LeftOut back = change.left_out_before & ~change.left_out;
  std::string name = "TraceAgent ";
  name += added != 0 || back == 0 ? "leaves out: " + names_of(added != 0 ? added : change.left_out)
                                  : "records again: " + names_of(back);
  if (change.kind != BudgetKind::door && change.kind != BudgetKind::cpu) {
    return name + " (budget." + name_of(change.kind) + " is spent)";
  }
  const char* const of =
      change.kind == BudgetKind::door ? " of the busiest thread" : " of the CPUs";
  return name + " (costs " + in_percent(change.measured_millionths) + of + ", budget " +
         in_percent(budget_millionths) + ")";
}

JsonObject governor_object(const ring::Ring& ring, const event::TickConverter& clock,
                           std::uint64_t begin_ticks, std::uint64_t end_ticks) {
  const ring::GovernorBlock& block = ring.header().governor;
  const auto percent = [](const std::atomic<std::uint32_t>& millionths) {
    return millionths.load(std::memory_order_relaxed) / millionths_per_percent;
  };
  LeftOut in_window = 0;
  JsonArray shown;
  const std::vector<GovernorChange> changes = governor_changes(ring);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::uint64_t until = i + 1 < changes.size() ? changes[i + 1].ticks : UINT64_MAX;
    if (changes[i].ticks >= end_ticks || until <= begin_ticks) continue;
    if (changes[i].ticks <= begin_ticks && changes[i].left_out == 0) continue;
    in_window |= changes[i].left_out;
    shown.add(change_object(changes[i], clock));
  }
  const std::uint32_t count = block.change_count.load(std::memory_order_acquire);
  const bool lacks_changes =
      count > ring::budget_change_slots && changes.front().ticks > begin_ticks;
  if (lacks_changes) in_window |= changes.front().left_out_before;
  JsonObject object;
  object.add("budget_overhead_percent", percent(block.budget_millionths))
      .add("busiest_thread_percent", percent(block.thread_millionths))
      .add("own_threads_percent", percent(block.own_cpu_millionths))
      .add("ns_per_event", block.ns_per_1000_events.load(std::memory_order_relaxed) / 1000.0);
  // Of a process that is dead, what it last noted.
  const auto heap = std::max<std::uint64_t>(
      block.heap_bytes.load(std::memory_order_relaxed),
      static_cast<std::uint64_t>(event::own_heap.most_bytes.load(std::memory_order_relaxed)));
  object.add("heap_bytes", heap);
  if (const auto disk = block.disk_bytes.load(std::memory_order_relaxed); disk != 0) {
    object.add("disk_bytes", disk);
  }
  if (const auto windows = block.windows_left_out.load(std::memory_order_relaxed); windows != 0) {
    object.add("windows_left_out", windows);
  }
  object.add("left_out", names_array(in_window)).add("changes", shown);
  // Of the whole run: which of them were in this window nobody knows any more.
  if (lacks_changes) object.add("changes_not_kept", count - (ring::budget_change_slots - 1));
  return object;
}

}  // namespace traceagent::drain
