// What an imported file looks like as one of ours: its head, the metadata, the files that it
// becomes.
#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "agent/trace/corrected_sources.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/file_problem.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_input.hpp"
#include "agent/trace/merge_metadata.hpp"
#include "agent/trace/output_file.hpp"
#include "tools/clocks/merged_clock.hpp"
#include "tools/import/foreign_file.hpp"
#include "tools/import/run_file.hpp"
#include "tools/import/source_keys.hpp"

namespace traceagent::tools {

namespace {

// Of a file of ours without what its writer said.
constexpr char tells_nothing[] = "it does not say whether anything is missing";

}  // namespace

std::vector<std::string> ForeignFile::write_headers() {
  std::vector<std::string> paths;
  // An empty one has nothing to give, and must not add a rank.
  if (!report_.left_out.empty()) return paths;
  if (!report_.is_trace || (runs_.empty() && metadata_lines_.empty())) return paths;
  // In the order in which they were begun: of events of one time the earlier run's come first.
  std::sort(runs_.begin(), runs_.end(), [](const auto& a, const auto& b) {
    return std::pair(a.path.size(), a.path) < std::pair(b.path.size(), b.path);
  });
  for (const SortedRuns::Run& run : runs_) {
    const std::string name = trace_name() + "#" + std::to_string(paths.size() + 1);
    const std::string content = content_ + "#" + std::to_string(paths.size() + 1);
    RunFile file{run.path, name, base_ns_, report_.ranks, content, identity_json()};
    file.older_states = older_states_;
    if (!may_have_collectives_) file.quiet_ns = run.spans.bounds_ns();
    file.host = host();
    file.clock = merged_clock_json();
    if (facts_.kind() == ForeignKind::traceagent) {
      file.corrections = trace::member(facts_.distributed_info(), "clock_corrections").value_or("");
    }
    if (const int error = source_ ? file.write_without_events() : file.complete(); error != 0) {
      report_.problem = trace::file_problem("cannot write what was imported", run.path, error);
      report_.is_trace = false;
      return {};
    }
    paths.push_back(run.path);
  }
  paths = merge_runs(std::move(paths), prefix_ + "merged", trace_name(), merged_clock_json());
  paths.insert(paths.begin(), prefix_ + "head");
  if (!write_head(paths.front())) return {};
  return paths;
}

// Beside the name and the content: what tells it from others of the same text (trace::identity_of,
// may_be()); as it was known before.
trace::JsonObject ForeignFile::identity_json() const {
  trace::JsonObject identity;
  const auto told = known_ ? known_->told_rank : told_rank();
  const auto named = known_ ? known_->named_rank : named_rank_;
  if (told) identity.add(trace::told_rank_member, *told);
  if (named && named != told) identity.add(trace::named_rank_member, *named);
  const bool has_clock = known_ ? known_->has_clock : report_.has_clock && report_.events > 0;
  if (!has_clock) identity.add(trace::has_clock_member, false);
  if (const std::string marks = begins(); !marks.empty()) identity.add(trace::begins_member, marks);
  return identity;
}

// What it tells of the clocks that were brought together in it; or empty.
std::string ForeignFile::merged_clock_json() const {
  if (facts_.kind() == ForeignKind::traceagent) {
    return std::string(trace::member(facts_.distributed_info(), "clock").value_or(""));
  }
  if (facts_.kind() != ForeignKind::composer || report_.ranks.size() < 2) return "";
  // Composer moves all of a rank's times by the marks of one of its cycles: how well nobody knows.
  return MergedClock{.of = "rank " + std::to_string(report_.ranks.front())}.text();
}

// Ranks and process groups as they stand, less what would make it another file's.
std::string ForeignFile::distributed_info_json() const {
  trace::JsonObject info;
  info.add("rank", report_.ranks.front());
  const std::string& known = facts_.distributed_info();
  if (const auto world_size = trace::integer_member(known, "world_size")) {
    info.add("world_size", *world_size);
  }
  if (report_.ranks.size() > 1) info.add("ranks", report_.ranks);
  for (const char* key : {"backend", "pg_count", "pg_config", "nccl_version"}) {
    if (const auto value = trace::member(known, key)) {
      info.add(key, trace::JsonValue::raw(std::string(*value)));
    }
  }
  if (facts_.kind() == ForeignKind::traceagent) {
    for (const char* key :
         {"node_rank", "node_ranks", "run_key", "run_keys", "clock_corrections"}) {
      if (const auto value = trace::member(known, key)) {
        info.add(key, trace::JsonValue::raw(std::string(*value)));
      }
    }
  }
  if (const std::string clock = merged_clock_json(); !clock.empty()) {
    info.add("clock", trace::JsonValue::raw(clock));
  }
  info.add("content", content_).add_all(identity_json());
  if (!older_states_.empty()) info.add("older_states", trace::JsonValue::raw(older_states_));
  if (const std::string name = host(); !name.empty()) info.add("host", name);
  return info.text();
}

// Of a file of ours: a merge of what it goes into knows it by these.
std::vector<std::string> ForeignFile::own_sources_json() const {
  if (source_keys().empty()) return {};
  std::vector<std::string> sources = normal_sources(facts_.sources());
  if (sources.empty()) {
    sources.push_back(normal_source(facts_.own_name(), *facts_.rank(), *facts_.base_ns()));
  }
  for (std::string& source : sources) {
    source = trace::marked_source(source, std::string(trace::saved_mark) + content_);
  }
  return sources;
}

bool ForeignFile::write_head(const std::string& path) {
  trace::OutputFile file;
  if (file.open(path, {.overwrite = false})) {
    trace::DocumentHeader header;
    header.base_ns = base_ns_;
    header.trace_name = trace_name();
    header.distributed_info_json = distributed_info_json();
    header.sources_json = own_sources_json();
    if (facts_.kind() == ForeignKind::traceagent) header.selections_json = facts_.selections();
    if (!facts_.device_properties().empty()) {
      header.device_properties_json = facts_.device_properties();
    }
    trace::write_header(file, header);
    for (const std::string& line : metadata_lines_) {
      file.append(&line == metadata_lines_.data() ? "\n" : ",\n");
      file.append(line);
    }
    trace::write_footer(file, metadata_json(), report_.problem.empty() && !report_.open_end);
  }
  if (file.failed() || !file.finish()) {
    report_.problem = file.error();
    report_.is_trace = false;
  }
  return report_.is_trace;
}

std::string ForeignFile::metadata_json() const {
  return facts_.kind() == ForeignKind::traceagent ? own_metadata_json()
                                                  : metadata_of_import().text();
}

// What its writer says of itself or, of a merged file, of all its ranks; and what the import does.
std::string ForeignFile::own_metadata_json() const {
  const std::string& own = facts_.own_metadata();
  const auto merged = trace::member(own, "merged");
  trace::JsonArray ranks;
  const auto add_rank = [&ranks](std::string_view about) {
    ranks.add(trace::JsonValue::raw(std::string(about)));
  };
  if (merged) {
    trace::for_each_element(*merged, add_rank);
  } else if (!own.empty()) {
    add_rank(own);
  }
  ranks.add(metadata_of_import());
  trace::JsonArray incomplete;
  const auto add_fault = [this, &incomplete](std::string_view problem) {
    incomplete.add(trace::JsonObject().add("file", trace_name()).add("problem", problem));
  };
  trace::for_each_element(
      trace::member(own, "incomplete").value_or(""),
      [&](std::string_view fault) { incomplete.add(trace::JsonValue::raw(std::string(fault))); });
  if (!report_.problem.empty()) {
    add_fault(report_.problem);
  } else if (!merged && !facts_.is_complete()) {
    add_fault(own.empty() ? tells_nothing : trace::writer_lost_something);
  }
  trace::JsonObject all;
  all.add("merged", ranks);
  if (const auto missing = trace::member(own, "missing_ranks")) {
    all.add("missing_ranks", trace::JsonValue::raw(std::string(*missing)));
  }
  for (const char* count : {"left_out", "left_out_at_most", "clipped", "clipped_at_most"}) {
    const auto value = trace::member(own, count);
    if (merged && value) all.add(count, trace::JsonValue::raw(std::string(*value)));
  }
  return all.add("incomplete", incomplete).text();
}

// Also what is none for the merge: `traceagent check` is to say it.
std::string ForeignFile::problem_in_metadata() const {
  if (!report_.problem.empty()) return report_.problem;
  if (report_.open_end || report_.placed == 0) return not_closed(report_);
  return "times of which some count from 1970 and some do not: " + std::to_string(report_.placed) +
         " events stand from where the others begin, and when they happened is not known";
}

trace::JsonObject ForeignFile::metadata_of_import() const {
  trace::JsonObject clock;
  for (const char* key : {"clock_sync_timestamp_us", "clock_sync_error_bound"}) {
    const auto found = described_.find(key);
    const auto value =
        found == described_.end() ? std::nullopt : trace::member(found->second, "value");
    if (value) clock.add(key, trace::JsonValue::raw(std::string(*value)));
  }
  trace::JsonObject dropped;
  for (const auto& [cause, count] : counts_.dropped) dropped.add(cause, count);
  trace::JsonObject imported;
  imported.add("file", trace_name()).add("kind", report_.kind).add("rank_from", report_.rank_from);
  imported.add("events", counts_.events).add("metadata_events", counts_.metadata_events);
  imported.add("empty_events", counts_.empty).add("repaired", counts_.repaired);
  if (counts_.crowded > 0) imported.add("crowded", counts_.crowded);
  imported.add("runs", runs_.size()).add("has_clock", report_.has_clock);
  if (report_.placed > 0) imported.add("placed", report_.placed);
  const std::string problem = problem_in_metadata();
  if (!problem.empty()) imported.add("problem", problem);
  imported.add("members", facts_.members());
  trace::JsonObject all;
  all.add("identity",
          trace::JsonObject().add("rank", report_.ranks.front()).add("file", trace_name()));
  if (!clock.empty()) all.add("clock", clock);
  return all.add("dropped", dropped).add("imported", imported);
}

}  // namespace traceagent::tools
