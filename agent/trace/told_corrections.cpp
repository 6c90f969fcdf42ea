#include "agent/trace/told_corrections.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "agent/trace/json_object.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

JsonObject knots_in_json(const ClockCorrection& correction) {
  const ClockKnot& first = correction.knots().front();
  JsonObject object;
  object.add("at_ns", first.at_ns)
      .add("offset_ns", first.offset_ns)
      .add("drift_ppm", correction.drift_at(first.at_ns) * 1e6);
  if (correction.knots().size() > 2) object.add("pieces", correction.knots().size() - 1);
  return object;
}

// Files of earlier versions do not say whose times they were: anybody's.
bool is_of(std::string_view element, std::int64_t rank) {
  const auto ranks = member(element, "ranks");
  bool is_any = !ranks.has_value();
  for_each_element(ranks.value_or(""),
                   [&](std::string_view each) { is_any = is_any || parse_integer(each) == rank; });
  return is_any;
}

std::string without_ranks(std::string_view element) {
  JsonObject object;
  for_each_member(element, [&](std::string_view name, std::string_view value) {
    if (name != "ranks") object.add(name, JsonValue::raw(std::string(value)));
  });
  return object.text();
}

// All that was done, or is, to the times of one rank in an input.
std::string done_to(const MergeInput& input, std::int64_t rank) {
  std::string done;
  for_each_element(member(input.header.distributed_info, "clock_corrections").value_or(""),
                   [&](std::string_view element) {
                     if (is_of(element, rank)) done += without_ranks(element);
                   });
  if (!input.correction.is_none()) done += knots_in_json(input.correction).text();
  return done;
}

struct Held {
  const MergeInput* by;
  std::string done;
};

// By what makes a source the same in two inputs.
std::map<std::string, Held> held_by(const MergeInput& input, const Selection* selection) {
  std::map<std::string, Held> held;
  for (const std::string& source : sources_of(input, selection)) {
    const std::int64_t rank = integer_member(source, "rank").value_or(input.header.rank);
    held.emplace(identity_of(source), Held{&input, done_to(input, rank)});
  }
  return held;
}

}  // namespace

void ToldCorrections::add(const MergeInput& input, const std::set<std::int64_t>& ranks) {
  for_each_element(member(input.header.distributed_info, "clock_corrections").value_or(""),
                   [this](std::string_view element) {
                     if (std::ranges::find(earlier_, element) == earlier_.end()) {
                       earlier_.emplace_back(element);
                     }
                   });
  if (input.correction.is_none()) return;
  JsonObject knots = knots_in_json(input.correction);
  auto known =
      std::ranges::find_if(own_, [&](const Own& own) { return own.knots.text() == knots.text(); });
  if (known == own_.end()) known = own_.insert(own_.end(), Own{std::move(knots), {}});
  known->ranks.insert(ranks.begin(), ranks.end());
}

std::vector<std::string> ToldCorrections::elements() const {
  std::vector<std::string> elements = earlier_;
  for (const Own& own : own_) {
    JsonObject element = own.knots;
    element.add("ranks", std::vector<std::int64_t>(own.ranks.begin(), own.ranks.end()));
    elements.push_back(element.text());
  }
  return elements;
}

void leave_out_corrected_otherwise(std::vector<MergeInput>& inputs, const Selection* selection) {
  std::vector<MergeInput*> order;
  for (MergeInput& input : inputs) {
    if (input.is_used()) order.push_back(&input);
  }
  std::ranges::stable_sort(order, {},
                           [](const MergeInput* each) { return !each->header.selections.empty(); });
  std::map<std::string, Held> held;
  for (MergeInput* const input : order) {
    std::map<std::string, Held> own = held_by(*input, selection);
    const MergeInput* other = nullptr;
    for (const auto& [source, mine] : own) {
      const auto found = held.find(source);
      if (found != held.end() && found->second.done != mine.done) other = found->second.by;
    }
    if (other == nullptr) {
      held.merge(own);
      continue;
    }
    const std::string& path = other->report.path;
    input->report.left_out =
        "it shares ranks with " + path + ", and their times were corrected in two ways";
    input->report.problem =
        "corrected otherwise: " + input->report.path + ": what it shares with " + path +
        " would be there twice, since clocks were put together in two ways: choose again of the "
        "rank files";
  }
}

}  // namespace traceagent::trace
