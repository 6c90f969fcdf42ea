#include "agent/drain/run_index.hpp"

#include <sys/stat.h>

#include <ctime>

#include "agent/drain/clock.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/event/ticks.hpp"
#include "agent/trace/index_file.hpp"

namespace traceagent::drain {
namespace {

std::string index_path(const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  const bool has_more_nodes = identity.world_size > identity.local_world_size;
  return output_folder(ring) + "/index/index" +
         (has_more_nodes ? "-node" + std::to_string(identity.node_rank) : "") + ".json";
}

// As the folder has it, which may be moved.
std::string name_in_folder(const ring::Ring& ring, const std::string& path) {
  const std::string folder = output_folder(ring) + "/";
  return path.starts_with(folder) ? path.substr(folder.size()) : path;
}

std::string head_of(const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  trace::JsonObject head;
  head.add("run_key", ring.name(identity.run_key))
      .add("run_name", ring.name(identity.run_name))
      .add("node_rank", identity.node_rank);
  return "{" + head.members() + ", \"entries\": [";
}

std::string add(const ring::Ring& ring, const trace::JsonObject& entry) {
  const std::string path = index_path(ring);
  const std::string problem = make_parent_folders(path);
  if (!problem.empty()) return problem;
  return trace::add_to_index(path, head_of(ring), entry.text(),
                             ring.header().identity.overwrite_files != 0);
}

std::uint64_t now_ns() { return event::clock_ns(CLOCK_REALTIME); }

}  // namespace

std::string index_saved(const ring::Ring& ring, const ring::Window& window,
                        const RankFileReport& file, bool recovered) {
  const config::NameVariables counts = window_variables(ring, window);
  const event::TickConverter clock = clock_of(ring);
  const auto time_of = [&](const std::atomic<std::uint64_t>& ticks) {
    return clock.realtime_ns(ticks.load(std::memory_order_relaxed));
  };
  trace::JsonObject entry;
  entry.add("saved", name_in_folder(ring, file.path))
      .add("rank", ring.header().identity.rank)
      .add("pid", ring.header().owner_pid)
      .add("cycle", window.cycle)
      .add("epoch", counts.epoch.value_or(0))
      .add("batch", counts.batch.value_or(0));
  if (window.is_startup == 0) {
    entry.add("first_step", window.first_step.load(std::memory_order_relaxed))
        .add("last_step", window.last_step.load(std::memory_order_relaxed));
  }
  entry.add("begin_ns", time_of(window.begin_ticks)).add("end_ns", time_of(window.end_ticks));
  if (file.bytes != 0) entry.add("events", file.events).add("bytes", file.bytes);
  return add(ring, entry.add("recovered", recovered).add("time_ns", now_ns()));
}

std::string index_merged(const ring::Ring& ring, const std::string& node_file,
                         std::uint64_t events) {
  trace::JsonObject entry;
  entry.add("merged", name_in_folder(ring, node_file)).add("events", events);
  return add(ring, entry.add("time_ns", now_ns()));
}

std::string index_removed(const ring::Ring& ring, const std::string& file) {
  trace::JsonObject entry;
  return add(ring, entry.add("removed", name_in_folder(ring, file)).add("time_ns", now_ns()));
}

bool is_indexed(const ring::Ring& ring, const std::string& file) {
  trace::JsonObject entry;
  entry.add("saved", name_in_folder(ring, file));
  return trace::index_holds(index_path(ring), "{" + entry.members() + ",");
}

}  // namespace traceagent::drain
