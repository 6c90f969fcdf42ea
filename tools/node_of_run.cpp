#include "tools/node_of_run.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "agent/drain/file_names.hpp"
#include "agent/drain/node_claim.hpp"
#include "agent/ring/dead_runs.hpp"
#include "agent/trace/job_ranks.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/trace_reader.hpp"
#include "config/name_template.hpp"

namespace traceagent::tools {

namespace {

namespace fs = std::filesystem;

bool wants_merge(const ring::Ring& ring) {
  const std::string_view options = ring.name(ring.header().identity.options_json);
  return trace::string_member(options, "merge.mode").value_or("exit") != "off";
}

}  // namespace

bool is_sound(const ring::OpenedRing& opened) {
  return opened.ring.valid() && ring::is_own(opened) &&
         opened.ring.header().ready.load(std::memory_order_acquire) != 0 &&
         opened.ring.header().identity.checksum == ring::identity_checksum(opened.ring);
}

namespace {

// Where the job itself would have written.
std::string job_folder(const ring::Ring& ring) {
  const std::string_view folder = ring.name(ring.header().identity.output_folder);
  const auto named = config::format_name(folder, drain::run_variables(ring));
  return named.problem.empty() ? named.name : "";
}

bool describe(const std::string& path, NodeOfRun& node) {
  ring::OpenedRing opened = ring::open_ring(path);
  const bool sound = is_sound(opened);
  if (sound) {
    const ring::IdentityBlock& identity = opened.ring.header().identity;
    const drain::NamedFile named = drain::node_file_name(opened.ring);
    node.path = named.problem.empty() && wants_merge(opened.ring) ? named.path : "";
    node.run_key = opened.ring.name(identity.run_key);
    node.node_rank = identity.node_rank;
    const std::string_view source = opened.ring.name(identity.identity_source);
    if (source.find(trace::node_rank_is_guess) != std::string_view::npos) {
      node.host = opened.ring.name(identity.host);
    }
    node.nodes = identity.world_size <= identity.local_world_size
                     ? 1
                     : drain::nodes_of(identity.world_size, identity.local_world_size);
    node.pid = opened.ring.header().owner_pid;
    node.gzip = identity.gzip != 0;
    node.overwrite = identity.overwrite_files != 0;
    node.folder = drain::output_folder(opened.ring);
    node.job_folder = job_folder(opened.ring);
    node.include =
        trace::string_member(opened.ring.name(identity.options_json), "merge.include").value_or("");
    node.keep =
        trace::integer_member(opened.ring.name(identity.options_json), "output.keep").value_or(-1);
  }
  ring::close_ring(opened);
  return sound;
}

// A note of the agent's that holds a time; without its end of line it is half of one.
void read_time(const fs::path& note, std::int64_t& time_ns) {
  std::string line;
  std::ifstream file(note);
  if (std::getline(file, line) && !file.eof()) {
    time_ns = std::strtoll(line.c_str(), nullptr, 10);
  }
}

// Notes that the agent leaves where it finds the folder of an older run of its key.
void read_notes(const fs::path& run, NodeOfRun& node) {
  read_time(run / ring::older_run_note, node.since_ns);
  read_time(run / "aside", node.until_ns);
}

}  // namespace

bool describe(const std::vector<std::string>& rings_of_run, NodeOfRun& node) {
  const bool is_known = std::any_of(rings_of_run.begin(), rings_of_run.end(),
                                    [&](const std::string& path) { return describe(path, node); });
  if (is_known) read_notes(fs::path(rings_of_run.front()).parent_path(), node);
  return is_known;
}

Kind kind_of(const std::string& path, const NodeOfRun& node) {
  std::error_code ignored;
  trace::TraceReader reader;
  if (!fs::is_regular_file(fs::symlink_status(path, ignored)) || !reader.open(path)) {
    return Kind::other;
  }
  const std::string& about = reader.header().distributed_info;
  const std::int64_t base_ns = reader.header().base_ns;
  const bool is_of_run = base_ns >= node.since_ns && base_ns < node.until_ns &&
                         trace::string_member(about, "run_key").value_or("") == node.run_key;
  if (!is_of_run) {
    return Kind::other;
  }
  const bool is_merged = !reader.header().sources.empty();
  if (trace::integer_member(about, "node_rank").value_or(0) != node.node_rank) {
    return is_merged ? Kind::another_nodes : Kind::other;
  }
  if (is_merged) return Kind::node_file;
  const bool is_of_host =
      node.host.empty() || trace::string_member(about, "host").value_or("") == node.host;
  return is_of_host ? Kind::rank_file : Kind::other;
}

}  // namespace traceagent::tools
