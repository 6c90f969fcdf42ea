#include "agent/trace/merge_input.hpp"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "agent/trace/corrected_sources.hpp"
#include "agent/trace/cut_files.hpp"
#include "agent/trace/doubled_inputs.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/settled_sources.hpp"
#include "agent/trace/shared_events.hpp"

namespace traceagent::trace {

namespace {

std::string in_quotes(std::string_view escaped) { return "\"" + std::string(escaped) + "\""; }

// A job's groups may be long, and stand there too: they are passed over once.
std::string source_json(const TraceHeader& header) {
  JsonObject source;
  source.add("name", JsonValue::raw(in_quotes(header.trace_name)))
      .add("rank", header.rank)
      .add("baseTimeNanoseconds", header.base_ns);
  for_each_member(header.distributed_info, [&](std::string_view name, std::string_view value) {
    const bool is_wanted =
        name == content_member ||
        std::find(imported_members.begin(), imported_members.end(), name) != imported_members.end();
    if (is_wanted) source.add(name, JsonValue::raw(std::string(value)));
  });
  return source.text();
}

}  // namespace

std::string without_mark(const std::string& source) {
  if (!member(source, corrected_member)) return source;
  JsonObject object;
  for_each_member(source, [&object](std::string_view name, std::string_view value) {
    if (name != corrected_member) object.add(name, JsonValue::raw(std::string(value)));
  });
  return object.text();
}

namespace {

// Somebody may have compressed it since: "x.json.gz#1" was "x.json#1".
std::string plain_name(std::string_view name, bool is_run) {
  const std::size_t end = is_run ? name.rfind('#') : std::string_view::npos;
  const std::size_t length = std::min(end, name.size());
  return without_gz(std::string(name.substr(0, length))).append(name.substr(length));
}

}  // namespace

// What makes it the same file in two merges. An imported file is told by its content: it may be
// called otherwise by now, and a rank or a base that it has not itself may differ from one merge to
// the next. Files of a simulation, without real times, may be equal to the letter: there the name
// counts, and everywhere a rank that was told.
std::string identity_of(const std::string& source) {
  const auto content = string_member(source, "content");
  if (!content) return without_mark(source);
  const bool is_run = content->find('#') != std::string_view::npos;
  std::string identity(*content);
  if (const auto told_rank = member(source, told_rank_member)) {
    identity.append("\nrank ").append(*told_rank);
  }
  if (member(source, has_clock_member) == "false") {
    identity.append("\n").append(plain_name(string_member(source, "name").value_or(""), is_run));
  }
  return identity;
}

std::vector<std::string> sources_of(const MergeInput& input, const Selection* selection) {
  if (input.header.sources.empty()) return {input.source};
  std::vector<std::string> sources = input.header.sources;
  std::erase_if(sources, [&](const std::string& source) {
    return selection != nullptr &&
           !selection->has_rank(integer_member(source, "rank").value_or(input.header.rank));
  });
  return sources;
}

bool begin_alike(std::string_view some, std::string_view others) {
  const std::size_t shorter = std::min(some.size(), others.size());
  return shorter > 0 && some.substr(0, shorter) == others.substr(0, shorter);
}

std::set<std::string> identities_of(const MergeInput& input) {
  std::set<std::string> identities;
  for (const std::string& source : sources_of(input)) identities.insert(identity_of(source));
  return identities;
}

namespace {

MergeInput scan(const std::string& path, const GivenPaths& given) {
  MergeInput input;
  input.report.path = path;
  const auto found = given.find(path);
  input.report.given = found == given.end() ? path : found->second;
  TraceReader reader;
  input.usable = reader.open(path);
  input.report.problem = as_given(input.report, reader.problem());
  input.header = reader.header();
  input.source = source_json(input.header);
  const std::string_view content = string_member(input.source, content_member).value_or("");
  input.imported_mark = content.substr(0, content.find('#'));
  input.earlier_mark = earlier_mark_of(input.header);
  input.report.rank = input.header.rank;
  input.file_bytes = reader.file_bytes();
  return input;
}

void leave_out_unwanted(std::vector<MergeInput>& inputs, const Selection& selection) {
  for (MergeInput& input : inputs) {
    if (input.is_used() && ranks_of(input, &selection).empty()) {
      input.report.left_out = "none of its ranks was asked for";
      input.report.unwanted = true;
    }
  }
}

}  // namespace

std::set<std::int64_t> ranks_of(const TraceHeader& header) {
  std::set<std::int64_t> ranks;
  const auto listed = member(header.distributed_info, "ranks");
  for_each_element(listed.value_or(""), [&](std::string_view element) {
    ranks.insert(parse_integer(element).value_or(header.rank));
  });
  if (ranks.empty()) ranks.insert(header.rank);
  return ranks;
}

std::set<std::int64_t> ranks_of(const MergeInput& input, const Selection* selection) {
  std::set<std::int64_t> ranks = ranks_of(input.header);
  if (selection != nullptr) {
    std::erase_if(ranks, [&](std::int64_t rank) { return !selection->has_rank(rank); });
  }
  return ranks;
}

std::string as_given(const MergedInput& input, std::string problem) {
  const std::size_t at = problem.find(input.path);
  if (at != std::string::npos) problem.replace(at, input.path.size(), input.given);
  return problem;
}

std::vector<MergeInput> read_headers(const std::vector<std::string>& paths,
                                     const GivenPaths& given) {
  std::vector<MergeInput> inputs;
  for (const std::string& path : paths) inputs.push_back(scan(path, given));
  return inputs;
}

std::vector<MergeInput> scan_inputs(const std::vector<std::string>& paths,
                                    const Selection* selection, const GivenPaths& given) {
  std::vector<MergeInput> inputs = read_headers(paths, given);
  std::sort(inputs.begin(), inputs.end(), [](const MergeInput& a, const MergeInput& b) {
    return std::tie(a.header.rank, a.header.base_ns, a.report.path) <
           std::tie(b.header.rank, b.header.base_ns, b.report.path);
  });
  settle_sources(inputs);
  leave_out_doubled(inputs, selection);
  mark_shared(inputs);
  if (selection != nullptr) {
    leave_out_unwanted(inputs, *selection);
  }
  return inputs;
}

std::set<std::int64_t> ranks_in(const std::vector<MergeInput>& inputs, const Selection* selection) {
  std::set<std::int64_t> ranks;
  for (const MergeInput& input : inputs) {
    if (input.is_used()) ranks.merge(ranks_of(input, selection));
  }
  return ranks;
}

}  // namespace traceagent::trace
