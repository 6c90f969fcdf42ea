#include "agent/trace/merged_header.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include "agent/trace/corrected_sources.hpp"
#include "agent/trace/input_runs.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

void add_missing_elements(std::string_view array, std::vector<std::string>& texts) {
  for_each_element(array, [&](std::string_view element) {
    if (std::find(texts.begin(), texts.end(), element) == texts.end()) {
      texts.emplace_back(element);
    }
  });
}

JsonArray array_of(const std::vector<std::string>& texts) {
  JsonArray array;
  for (const std::string& text : texts) {
    array.add(JsonValue::raw(text));
  }
  return array;
}

void add_nodes(const TraceHeader& header, std::set<std::int64_t>& nodes) {
  if (const auto one = integer_member(header.distributed_info, "node_rank")) {
    nodes.insert(*one);
  }
  for_each_element(member(header.distributed_info, "node_ranks").value_or(""),
                   [&](std::string_view node) { nodes.insert(parse_integer(node).value_or(0)); });
}

// The first input that names it decides: ranks of one job do not differ in these.
void add_first(const std::vector<MergeInput>& inputs, const char* key, JsonObject& info) {
  for (const MergeInput& input : inputs) {
    const auto value = member(input.header.distributed_info, key);
    if (input.is_used() && value) {
      info.add(key, JsonValue::raw(std::string(*value)));
      return;
    }
  }
}

// Where all have the same.
void add_common(const std::vector<MergeInput>& inputs, const char* key, JsonObject& info) {
  std::set<std::string> values;
  for (const MergeInput& input : inputs) {
    if (!input.is_used()) continue;
    values.emplace(member(input.header.distributed_info, key).value_or(""));
  }
  if (values.size() == 1 && !values.begin()->empty()) {
    info.add(key, JsonValue::raw(*values.begin()));
  }
}

// What earlier merges have done to the times of these inputs, and what this one does: a merge of
// the output must not take them for those of the nodes' own clocks.
void add_corrections(const MergeInput& input, const Selection* selection,
                     std::vector<std::string>& texts) {
  if (was_corrected(input, selection)) {
    add_missing_elements(member(input.header.distributed_info, "clock_corrections").value_or(""),
                         texts);
  }
  const ClockCorrection& own = input.correction;
  if (own.is_none()) {
    return;
  }
  const ClockKnot& first = own.knots().front();
  JsonObject element;
  element.add("at_ns", first.at_ns)
      .add("offset_ns", first.offset_ns)
      .add("drift_ppm", own.drift_at(first.at_ns) * 1e6);
  if (own.knots().size() > 2) {
    element.add("pieces", own.knots().size() - 1);
  }
  add_missing_elements(JsonArray().add(element).text(), texts);
}

// What these inputs hold of their sources, and what is now taken of them.
std::string selections_of(const std::vector<MergeInput>& inputs, const Selection* selection) {
  std::vector<std::string> texts;
  for (const MergeInput& input : inputs) {
    if (input.is_used()) {
      add_missing_elements(input.header.selections, texts);
    }
  }
  const JsonObject own = selection == nullptr ? JsonObject() : selection->description();
  if (!own.empty()) {
    texts.push_back(own.text());
  }
  return texts.empty() ? std::string() : array_of(texts).text();
}

// Each once, in the order of the inputs.
struct Gathered {
  std::int64_t world_size = 0;
  std::vector<std::string> groups;
  std::vector<std::string> devices;
  std::vector<std::string> corrections;
  std::set<std::int64_t> nodes;

  Gathered(const std::vector<MergeInput>& inputs, const Selection* selection) {
    for (const MergeInput& input : inputs) {
      if (!input.is_used()) continue;
      const TraceHeader& header = input.header;
      world_size = std::max(world_size, header.world_size);
      add_missing_elements(member(header.distributed_info, "pg_config").value_or(""), groups);
      add_missing_elements(header.device_properties, devices);
      add_nodes(header, nodes);
      add_corrections(input, selection, corrections);
    }
  }
};

// With their marks where one at least has one.
std::vector<std::string> marked_sources(const std::vector<MergeInput>& inputs,
                                        const Selection* selection) {
  std::set<std::string> identities;
  std::vector<std::string> sources;
  std::vector<std::string> marks;
  for (const MergeInput& input : inputs) {
    if (!input.is_used()) continue;
    for (const std::string& source : sources_of(input, selection)) {
      if (!identities.insert(identity_of(source)).second) continue;
      sources.push_back(source);
      marks.push_back(correction_mark(input, source));
    }
  }
  const bool is_any_marked =
      std::ranges::any_of(marks, [](const std::string& mark) { return !mark.empty(); });
  for (std::size_t i = 0; i < marks.size(); ++i) {
    sources[i] = is_any_marked ? marked_source(sources[i], marks[i]) : without_mark(sources[i]);
  }
  return sources;
}

std::int64_t first_base_ns(const std::vector<MergeInput>& inputs) {
  std::int64_t first = std::numeric_limits<std::int64_t>::max();
  for (const MergeInput& input : inputs) {
    if (input.is_used()) first = std::min(first, input.absolute_ns(0));
  }
  return first;
}

std::string info_of(const std::vector<MergeInput>& inputs, const std::set<std::int64_t>& ranks,
                    const Gathered& gathered, const std::string& clock) {
  JsonObject info;
  info.add("rank", *ranks.begin());
  // Where nobody says it, and others' files need not, the ranks that are here may be a few of many.
  if (gathered.world_size > 0) {
    info.add("world_size", std::max(gathered.world_size, *ranks.rbegin() + 1));
  }
  info.add("ranks", std::vector<std::int64_t>(ranks.begin(), ranks.end()));
  add_first(inputs, "backend", info);
  if (!gathered.groups.empty()) {
    info.add("pg_count", gathered.groups.size()).add("pg_config", array_of(gathered.groups));
  }
  add_first(inputs, "nccl_version", info);
  add_first(inputs, "node_rank", info);
  if (gathered.nodes.size() > 1) {
    info.add("node_ranks", std::vector<std::int64_t>(gathered.nodes.begin(), gathered.nodes.end()));
  }
  add_first(inputs, "run_key", info);
  if (const std::set<std::string> keys = run_keys_of(inputs); keys.size() > 1) {
    JsonArray array;
    for (const std::string& key : keys) array.add(key);
    info.add("run_keys", array);
  }
  if (!gathered.corrections.empty()) {
    info.add("clock_corrections", array_of(gathered.corrections));
  }
  if (!clock.empty()) info.add("clock", JsonValue::raw(clock));
  add_common(inputs, "host", info);
  return info.text();
}

}  // namespace

MergedHeader merged_header(const std::vector<MergeInput>& inputs, const Selection* selection,
                           const std::string& clock) {
  const Gathered gathered(inputs, selection);
  const std::set<std::int64_t> ranks = ranks_in(inputs, selection);
  MergedHeader merged;
  merged.base_ns = first_base_ns(inputs);
  merged.sources = marked_sources(inputs, selection);
  merged.ranks.assign(ranks.begin(), ranks.end());
  merged.distributed_info = info_of(inputs, ranks, gathered, clock);
  merged.device_properties = array_of(gathered.devices).text();
  merged.selections = selections_of(inputs, selection);
  return merged;
}

}  // namespace traceagent::trace
