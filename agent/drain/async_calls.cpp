#include "agent/drain/async_calls.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "agent/api/function.hpp"
#include "agent/drain/collective_text.hpp"

namespace traceagent::drain {

using api::Function;
using event::Layout;
using event::Record;

namespace {

constexpr std::int32_t in_progress = 7;  // ncclInProgress

bool is(const Record& record, Function function) noexcept {
  return record.function == static_cast<std::uint16_t>(function);
}

}  // namespace

AsyncCalls::AsyncCalls(const std::vector<ThreadEvents>& threads,
                       const event::TickConverter& clock) {
  std::vector<Asked> asked;
  for (const ThreadEvents& thread : threads) collect(thread, asked);
  // A call may return when its launch is done already, and says nothing of a thread then.
  std::set<std::uint32_t> patient;
  for (const Asked& each : asked) {
    if (each.by->result == in_progress) patient.insert(each.call->extra);
  }
  for (const Asked& each : asked) {
    if (patient.contains(each.call->extra)) add(each, clock);
  }
  for (auto& [communicator, units] : units_) {
    std::stable_sort(units.begin(), units.end(),
                     [](const Unit& a, const Unit& b) { return a.asked_ns < b.asked_ns; });
  }
}

void AsyncCalls::collect(const ThreadEvents& thread, std::vector<Asked>& asked) {
  std::vector<const Record*> in_group;
  std::size_t depth = 0;
  for (const Record* record : thread.records) {
    if (is(*record, Function::ncclGroupStart)) ++depth;
    if (is(*record, Function::ncclGroupEnd)) {
      // 0: the group began before the window, and part of it must not pass for all.
      const bool is_whole = depth > 0;
      if (is_whole && --depth != 0) continue;
      for (const Record* call : in_group) {
        if (is_whole) asked.push_back({record, call});
      }
      in_group.clear();
    }
    if (record->layout != Layout::collective) continue;
    if (record->result != 0 && record->result != in_progress) continue;
    if ((record->flags & event::flag_in_group) != 0) {
      in_group.push_back(record);
    } else {
      asked.push_back({record, record});
    }
  }
}

void AsyncCalls::add(const Asked& asked, const event::TickConverter& clock) {
  const std::int64_t asked_ns =
      clock.realtime_ns(asked.by->begin_ticks.load(std::memory_order_relaxed));
  std::vector<Unit>& units = units_[asked.call->extra];
  const std::uint64_t stream = asked.call->args[3];
  for (auto unit = units.rbegin(); unit != units.rend() && unit->asked_ns == asked_ns; ++unit) {
    if (unit->stream == stream) return unit->calls.push_back(asked.call);
  }
  units.push_back({asked_ns, asked.call->extra, stream, {asked.call}, {}});
}

std::vector<AsyncCalls::Unit*> AsyncCalls::pending(const Kernel& kernel) {
  std::vector<Unit*> found;
  for (auto& [communicator, units] : units_) {
    const auto after = std::upper_bound(
        units.begin(), units.end(), kernel.launched_ns,
        [](std::int64_t at_ns, const Unit& unit) { return at_ns < unit.asked_ns; });
    if (after == units.begin()) continue;
    const std::int64_t latest_ns = std::prev(after)->asked_ns;
    for (auto unit = after; unit != units.begin() && std::prev(unit)->asked_ns == latest_ns;) {
      --unit;
      const bool fits =
          std::any_of(unit->calls.begin(), unit->calls.end(),
                      [&](const Record* call) { return may_carry_out(kernel.name, *call); });
      if (fits && (!kernel.stream || *kernel.stream == unit->stream)) found.push_back(&*unit);
    }
  }
  return found;
}

std::vector<AsyncCalls::Answer> AsyncCalls::find(const std::vector<Kernel>& kernels) {
  std::vector<Answer> answers(kernels.size());
  std::vector<Unit*> unit_of(kernels.size(), nullptr);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const std::vector<Unit*> all = pending(kernels[i]);
    std::vector<Unit*> open;
    std::copy_if(all.begin(), all.end(), std::back_inserter(open),
                 [](const Unit* unit) { return !unit->kernel; });
    if (open.size() == 1) {
      unit_of[i] = open.front();
      open.front()->kernel = i;
      continue;
    }
    answers[i].is_ambiguous = !all.empty();
    if (!open.empty()) continue;
    // All have their kernels, so one of those is of a call that is not in the window.
    for (const Unit* unit : all) {
      unit_of[*unit->kernel] = nullptr;
      answers[*unit->kernel].is_ambiguous = true;
    }
  }
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (unit_of[i] != nullptr) answers[i].calls = unit_of[i]->calls;
  }
  return answers;
}

}  // namespace traceagent::drain
