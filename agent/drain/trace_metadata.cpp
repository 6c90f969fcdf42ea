#include "agent/drain/trace_metadata.hpp"

#include <algorithm>

#include "agent/drain/clock.hpp"
#include "agent/drain/governor_changes.hpp"
#include "agent/drain/own_cost.hpp"
#include "agent/event/plan_record.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"

namespace traceagent::drain {

using trace::JsonArray;
using trace::JsonObject;
using trace::JsonValue;

namespace {

std::string text_of(const ring::Ring& ring, std::uint32_t offset) {
  return std::string(ring.name(offset));
}

std::size_t communicator_count(const ring::Ring& ring) noexcept {
  const std::uint32_t count = ring.header().communicator_count.load(std::memory_order_acquire);
  return std::min<std::size_t>(count, ring::communicator_slots);
}

std::string hexadecimal(std::uint64_t value) {
  char text[trace::max_hex_chars];
  const char* end = trace::put_hex(text, value);
  return std::string(static_cast<const char*>(text) + 1, end - 1);  // without the quotes
}

}  // namespace

std::vector<trace::ProcessGroup> process_groups(const ring::Ring& ring) {
  std::vector<trace::ProcessGroup> groups;
  const auto* all = ring.header().communicators.data();
  const bool wrappers_saw_one = std::any_of(
      all, all + communicator_count(ring),
      [](const ring::Communicator& each) { return each.device != event::told_by_nccl; });
  for (std::size_t i = 0; i < communicator_count(ring); ++i) {
    const ring::Communicator& comm = ring.header().communicators[i];
    // The same communicators again, where wrappers saw any.
    if (comm.device == event::told_by_nccl && wrappers_saw_one) continue;
    trace::ProcessGroup group;
    group.name = std::to_string(i);
    group.description = "comm " + hexadecimal(comm.hash.load(std::memory_order_acquire));
    group.backend = "nccl";
    group.size = comm.size;
    groups.push_back(std::move(group));
  }
  return groups;
}

namespace {

// What a person calls the program: "python /x/train.py --lr 1" is train.py, "/x/y/demo -n 3" is
// demo.
std::string program_of(std::string_view command_line) {
  const auto take_word = [&] {
    const std::string_view word = command_line.substr(0, command_line.find(' '));
    command_line.remove_prefix(std::min(word.size() + 1, command_line.size()));
    return word.substr(word.rfind('/') + 1);
  };
  const std::string_view program = take_word();
  if (!program.starts_with("python")) return std::string(program);
  for (std::string_view word = take_word(); !word.empty(); word = take_word()) {
    if (word.front() != '-') return std::string(word);
  }
  return std::string(program);
}

}  // namespace

void write_process_metadata(trace::EventWriter& writer, const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  std::string name = "rank " + std::to_string(identity.rank);
  if (identity.trace_pid != identity.rank) {
    name += " (second process, pid " + std::to_string(ring.header().owner_pid) + ")";
  }
  writer.process_name(name + ": " + program_of(ring.name(identity.command_line)));
  writer.process_labels(text_of(ring, identity.host) + " pid " +
                        std::to_string(ring.header().owner_pid) + ": " +
                        text_of(ring, identity.command_line));
  writer.process_sort_index(identity.trace_pid);
}

namespace {

JsonObject identity_object(const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  JsonObject object;
  object.add("rank", identity.rank)
      .add("local_rank", identity.local_rank)
      .add("world_size", identity.world_size)
      .add("local_world_size", identity.local_world_size)
      .add("node_rank", identity.node_rank)
      .add("pid", ring.header().owner_pid)
      .add("trace_pid", identity.trace_pid)
      .add("host", text_of(ring, identity.host))
      .add("run_name", text_of(ring, identity.run_name))
      .add("run_key", text_of(ring, identity.run_key))
      .add("source", text_of(ring, identity.identity_source));
  return object;
}

JsonObject window_object(const ring::Ring& ring, const ring::Window& window,
                         std::uint64_t steps_missing) {
  const event::TickConverter clock = clock_of(ring, window);
  JsonObject object;
  object.add("cycle", window.cycle);
  if (window.is_startup != 0) {
    object.add("kind", "startup: no step was found before the program ended");
    // Not a loss by accident, so no drop; but nobody shall take it for the whole program.
    if (window.is_startup == ring::startup_until_full) {
      object.add("cut", "what came after half the ring was full");
    } else if (window.is_startup == ring::startup_until_patience) {
      object.add("cut", "what came after step.patience was over");
    }
  } else {
    object.add("first_step", window.first_step.load(std::memory_order_relaxed))
        .add("last_step", window.last_step.load(std::memory_order_relaxed));
    // Their calls are there.
    if (steps_missing != 0) object.add("steps_not_shown", steps_missing);
  }
  object.add("begin_ticks", window.begin_ticks.load(std::memory_order_relaxed))
      .add("begin_ns", clock.realtime_ns(window.begin_ticks.load(std::memory_order_relaxed)))
      .add("end_ns", clock.realtime_ns(window.end_ticks.load(std::memory_order_relaxed)));
  return object;
}

JsonObject dropped_object(const ring::DropCounts& counts) {
  JsonObject dropped;
  for (std::size_t i = 0; i < ring::drop_cause_count; ++i) {
    if (counts[i] != 0) dropped.add(ring::drop_cause_names[i], counts[i]);
  }
  return dropped;
}

// The two clock_sync values have Composer's names and units. They stand here, not in metadata
// events as Composer writes them: Chrome's viewer warns of every metadata event it does not know.
JsonObject clock_object(const ring::Ring& ring, const ring::Window& window) {
  const ring::Header& header = ring.header();
  const event::TickConverter converter = clock_of(ring, window);
  const std::uint64_t begin_ticks = window.begin_ticks.load(std::memory_order_relaxed);
  const std::uint64_t end_ticks = window.end_ticks.load(std::memory_order_relaxed);
  const double error_ns = converter.error_ns(begin_ticks, end_ticks);
  JsonObject clock;
  clock.add("ticks", header.ticks_from_tsc != 0 ? "tsc" : "CLOCK_MONOTONIC_RAW")
      .add("anchors", ring::anchors_in(header).size())
      .add("error_ns", error_ns)
      .add("clock_sync_timestamp_us", converter.realtime_ns(begin_ticks) / 1000)
      .add("clock_sync_error_bound", error_ns / 1000.0)
      .add("ns_per_tick", header.nominal_ns_per_tick);
  return clock;
}

// Of what the job's own threads record: what the device did is written by others.
JsonObject cost_object(const ring::Ring& ring, const ring::Window& window, const DoorCalls& calls) {
  std::uint64_t events = 0;
  for (const ring::DoorId door :
       {ring::DoorId::cudart, ring::DoorId::nccl, ring::DoorId::driver, ring::DoorId::nvtx}) {
    events += calls[static_cast<std::size_t>(door)];
  }
  const event::TickConverter clock = clock_of(ring, window);
  const double ns_per_event = measured_ns_per_event(ring.header().nominal_ns_per_tick);
  const auto window_ns =
      static_cast<double>(clock.realtime_ns(window.end_ticks.load(std::memory_order_relaxed)) -
                          clock.realtime_ns(window.begin_ticks.load(std::memory_order_relaxed)));
  JsonObject cost;
  cost.add("ns_per_event", ns_per_event);
  if (window_ns > 0) {
    cost.add("percent_of_window", ns_per_event * static_cast<double>(events) / window_ns * 100.0);
  }
  return cost;
}

}  // namespace

namespace {

// Of a command its first word: others may name keys and passwords, and traces are given away.
JsonValue shown_option(std::string_view value) {
  constexpr std::string_view command = "\"exec:";
  if (!value.starts_with(command)) return JsonValue::raw(std::string(value));
  const std::size_t begin = std::min(value.find_first_not_of(' ', command.size()), value.size());
  const std::size_t end = value.find_first_of(" \\", begin);  // a tab is escaped
  if (end == std::string_view::npos) return JsonValue::raw(std::string(value));
  return JsonValue::raw(std::string(value.substr(0, end)) + " ...\"");
}

// A damaged ring's text would spoil the file.
JsonValue options_value(const ring::Ring& ring) {
  const std::string text = text_of(ring, ring.header().identity.options_json);
  if (!trace::is_whole_object(text)) return nullptr;
  JsonObject shown;
  trace::for_each_member(text, [&](std::string_view key, std::string_view value) {
    shown.add(trace::unescaped(key), shown_option(value));
  });
  return shown;
}

}  // namespace

JsonObject rank_metadata(const ring::Ring& ring, const ring::Window& window, std::uint64_t events,
                         const RankFileOptions& options, const WindowCoverage& coverage) {
  const ring::Header& header = ring.header();
  JsonObject object;
  object.add("version", std::to_string(header.agent_version >> 16) + "." +
                            std::to_string(header.agent_version >> 8 & 0xff) + "." +
                            std::to_string(header.agent_version & 0xff));
  object.add("identity", identity_object(ring))
      .add("command_line", text_of(ring, header.identity.command_line))
      .add("window", window_object(ring, window, coverage.steps_missing))
      .add("step_detection", text_of(ring, header.identity.step_description))
      .add("events", events)
      .add("dropped", dropped_object(coverage.dropped))
      .add("doors", doors_object(ring, coverage.calls))
      .add("device", device_object(ring, coverage.match))
      .add("clock", clock_object(ring, window))
      .add("cost", cost_object(ring, window, coverage.calls))
      .add("governor", governor_object(ring, clock_of(ring, window),
                                       window.begin_ticks.load(std::memory_order_relaxed),
                                       window.end_ticks.load(std::memory_order_relaxed)))
      .add("ring_bytes", header.file_bytes)
      .add("options", options_value(ring));
  if (!options.coverage.empty()) object.add("coverage", options.coverage);
  if (options.recovered) object.add("recovered", true);
  // Its last calls are there: what was left was not written for another reason.
  if (options.recovered && ring::has_finished(ring)) object.add("process_finished", true);
  return object;
}

}  // namespace traceagent::drain
