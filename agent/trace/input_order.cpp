#include "agent/trace/input_order.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

constexpr std::int64_t no_event = std::numeric_limits<std::int64_t>::min();

struct FileOfRuns {
  std::size_t index = 0;  // of the first of its inputs
  std::int64_t first_ns = no_event;
};

// Rank, first time and index of the file, run, first time of the input, its index.
using Place =
    std::tuple<std::int64_t, std::int64_t, std::size_t, std::int64_t, std::int64_t, std::size_t>;

std::vector<Place> places_of(const std::vector<MergeInput>& inputs) {
  std::vector<RunOfFile> runs;
  std::map<std::pair<std::int64_t, std::string>, FileOfRuns> files;  // by rank and mark
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    runs.push_back(run_of(inputs[i]));
    if (runs[i].mark.empty()) continue;
    const std::int64_t first_ns = inputs[i].first_ns;
    FileOfRuns& file =
        files.try_emplace({inputs[i].header.rank, runs[i].mark}, FileOfRuns{i}).first->second;
    const bool is_first = file.first_ns == no_event || first_ns < file.first_ns;
    if (first_ns != no_event && is_first) file.first_ns = first_ns;
  }
  std::vector<Place> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::int64_t rank = inputs[i].header.rank;
    const auto found = files.find({rank, runs[i].mark});
    const FileOfRuns file =
        found == files.end() ? FileOfRuns{i, inputs[i].first_ns} : found->second;
    places.emplace_back(rank, file.first_ns, file.index, runs[i].number, inputs[i].first_ns, i);
  }
  return places;
}

}  // namespace

RunOfFile run_of(const MergeInput& input) {
  const std::vector<std::string> own = {input.source};
  RunOfFile first;
  for (const std::string& source : input.header.sources.empty() ? own : input.header.sources) {
    const std::string_view content = string_member(source, content_member).value_or("");
    const std::size_t at = content.find('#');
    if (at == std::string_view::npos) return {};
    const std::int64_t number = parse_integer(content.substr(at + 1)).value_or(0);
    if (first.mark.empty()) first = {std::string(content.substr(0, at)), number};
    if (first.mark != content.substr(0, at)) return {};
    first.number = std::min(first.number, number);
  }
  return first;
}

void put_in_order(std::vector<MergeInput>& inputs) {
  std::vector<Place> places = places_of(inputs);
  std::sort(places.begin(), places.end());
  std::vector<MergeInput> ordered;
  ordered.reserve(inputs.size());
  for (const Place& place : places) ordered.push_back(std::move(inputs[std::get<5>(place)]));
  inputs.swap(ordered);
}

}  // namespace traceagent::trace
