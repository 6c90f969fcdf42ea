#include "agent/drain/run_index.hpp"

#include <algorithm>
#include <ctime>

#include "agent/drain/clock.hpp"
#include "agent/drain/file_names.hpp"
#include "agent/drain/folders.hpp"
#include "agent/event/ticks.hpp"
#include "agent/trace/index_file.hpp"
#include "agent/trace/index_name.hpp"
#include "agent/trace/joined_index.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/line_reader.hpp"
#include "agent/trace/output_file.hpp"

namespace traceagent::drain {
namespace {

std::string head_of(const ring::Ring& ring) {
  return trace::index_head(ring.name(ring.header().identity.run_key));
}

bool has_more_nodes(const ring::IdentityBlock& identity) {
  return identity.world_size > identity.local_world_size;
}

std::string own_path(const ring::Ring& ring, const std::string& stem, bool may_replace) {
  return trace::index_path(output_folder(ring), stem, ring.name(ring.header().identity.run_key),
                           may_replace);
}

// Of this node.
std::string index_path(const ring::Ring& ring, bool may_replace) {
  return own_path(ring, index_stem(ring), may_replace);
}

// Thousands of ranks for days: then only at a node's end.
constexpr std::uint64_t most_joined_bytes = 4 << 20;
// It is made anew whole: of 20,000 files every minute and a half.
constexpr std::uint64_t joined_bytes_per_s = 64 << 10;

std::string join(const ring::Ring& ring, const std::string& path, std::uint64_t most_bytes) {
  return trace::join_indexes(output_folder(ring) + "/index", "index-node", head_of(ring), path,
                             most_bytes);
}

std::string join(const ring::Ring& ring, bool may_replace, bool is_end) {
  if (!has_more_nodes(ring.header().identity)) return {};
  const std::string path = own_path(ring, "index", may_replace);
  if (is_end) return join(ring, path, UINT64_MAX);
  if (trace::was_joined_lately(path, joined_bytes_per_s)) return {};
  return join(ring, path, most_joined_bytes);
}

// As the folder has it, which may be moved.
std::string name_in_folder(const ring::Ring& ring, const std::string& path) {
  const std::string folder = output_folder(ring) + "/";
  return path.starts_with(folder) ? path.substr(folder.size()) : path;
}

// Short enough to need no memory itself. The trace file is whole all the same.
std::string out_of_memory() { return "index: ENOMEM"; }

std::string add(const ring::Ring& ring, const std::vector<trace::JsonObject>& entries,
                IndexQueue* queue, bool recovered = false, bool is_end = false) {
  // What a dead run left never replaces the index of one that came after it.
  const bool may_replace = ring.header().identity.overwrite_files != 0 && !recovered;
  const std::string path = index_path(ring, may_replace);
  std::string problem = make_parent_folders(path);
  for (const trace::JsonObject& entry : entries) {
    if (!problem.empty()) return problem;
    problem = queue != nullptr
                  ? queue->add({path, head_of(ring), entry.text(), may_replace})
                  : trace::add_to_index(path, head_of(ring), entry.text(), may_replace);
  }
  const bool is_joining = ring.header().identity.local_rank == 0 || recovered || is_end;
  return !problem.empty() || !is_joining ? problem : join(ring, may_replace, is_end);
}

std::uint64_t now_ns() { return event::clock_ns(CLOCK_REALTIME); }

}  // namespace

std::string index_stem(const ring::Ring& ring) {
  const ring::IdentityBlock& identity = ring.header().identity;
  return has_more_nodes(identity) ? "index-node" + std::to_string(identity.node_rank) : "index";
}

std::string index_saved(const ring::Ring& ring, const ring::Window& window,
                        const RankFileReport& file, bool recovered, IndexQueue* queue) try {
  const config::NameVariables counts = window_variables(ring, window);
  const event::TickConverter clock = clock_of(ring);
  const auto time_of = [&](const std::atomic<std::uint64_t>& ticks) {
    return clock.realtime_ns(ticks.load(std::memory_order_relaxed));
  };
  trace::JsonObject entry;
  entry.add("saved", name_in_folder(ring, file.path))
      .add("rank", ring.header().identity.rank)
      .add("node_rank", ring.header().identity.node_rank)
      .add("pid", ring.header().owner_pid)
      .add("cycle", window.cycle)
      .add("epoch", counts.epoch.value_or(0))
      .add("batch", counts.batch.value_or(0));
  if (window.is_startup == 0) {
    entry.add("first_step", window.first_step.load(std::memory_order_relaxed))
        .add("last_step", window.last_step.load(std::memory_order_relaxed));
  }
  entry.add("begin_ns", time_of(window.begin_ticks)).add("end_ns", time_of(window.end_ticks));
  if (file.base_ns != 0) entry.add("base_ns", file.base_ns);
  if (file.bytes != 0) entry.add("events", file.events).add("bytes", file.bytes);
  entry.add("recovered", recovered).add("time_ns", now_ns());
  return add(ring, {entry}, queue, recovered);
} catch (...) {
  return out_of_memory();
}

std::string index_merged(const ring::Ring& ring, const std::string& node_file, std::uint64_t events,
                         bool recovered) try {
  trace::JsonObject entry;
  entry.add("merged", name_in_folder(ring, node_file)).add("events", events);
  return add(ring, {entry.add("time_ns", now_ns())}, nullptr, recovered, true);
} catch (...) {
  return out_of_memory();
}

std::string index_joined(const ring::Ring& ring, bool recovered) try {
  const ring::IdentityBlock& identity = ring.header().identity;
  if (!has_more_nodes(identity)) return {};
  // A large one by one rank of each node: thousands that each write it anew would load the file
  // system that they share.
  return join(ring, own_path(ring, "index", identity.overwrite_files != 0 && !recovered),
              identity.local_rank == 0 ? UINT64_MAX : most_joined_bytes);
} catch (...) {
  return out_of_memory();
}

namespace {

std::string index_gone(const ring::Ring& ring, const char* how, const std::string& file,
                       IndexQueue* queue) try {
  trace::JsonObject entry;
  return add(ring, {entry.add(how, name_in_folder(ring, file)).add("time_ns", now_ns())}, queue);
} catch (...) {
  return out_of_memory();
}

}  // namespace

std::string index_removed(const ring::Ring& ring, const std::string& file, IndexQueue* queue) {
  return index_gone(ring, "removed", file, queue);
}

std::string index_left_out(const ring::Ring& ring, const std::string& file, IndexQueue* queue) {
  return index_gone(ring, "left_out", file, queue);
}

std::string index_not_queued(const ring::Ring& ring, const std::vector<std::string>& files,
                             const std::string& why, bool recovered, IndexQueue* queue) try {
  std::vector<trace::JsonObject> entries;
  for (const std::string& file : files) {
    trace::JsonObject entry;
    entry.add("not_queued", name_in_folder(ring, file)).add("why", why);
    entries.push_back(entry.add("time_ns", now_ns()));
  }
  return add(ring, entries, queue, recovered);
} catch (...) {
  return out_of_memory();
}

void remove_half_made_index(const ring::Ring& ring) {
  const auto writer = static_cast<pid_t>(ring.header().owner_pid);
  trace::remove_abandoned(index_path(ring, true), writer);
  trace::remove_abandoned(own_path(ring, "index", true), writer);
}

std::vector<std::string> indexed_files(const ring::Ring& ring) {
  std::vector<std::string> files;
  trace::LineReader lines;
  std::string_view line;
  const std::string path = index_path(ring, ring.header().identity.overwrite_files != 0);
  if (!lines.open(path) || lines.next(line) != trace::LineReader::Status::line ||
      line != head_of(ring)) {
    return files;
  }
  const std::string folder = output_folder(ring) + "/";
  while (lines.next(line) == trace::LineReader::Status::line) {
    const auto saved = trace::string_member(line, "saved");
    if (!saved) continue;
    const std::string name = trace::unescaped(*saved);
    files.push_back(name.starts_with('/') ? name : folder + name);
  }
  return files;
}

bool is_indexed(const ring::Ring& ring, const std::string& file) {
  trace::JsonObject entry;
  entry.add("saved", name_in_folder(ring, file));
  return trace::index_holds(index_path(ring, false), "{" + entry.members() + ",");
}

}  // namespace traceagent::drain
