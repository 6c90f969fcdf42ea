#include "tools/clocks/clock_report.hpp"

#include <algorithm>
#include <cmath>

#include "tools/clocks/clock_words.hpp"

namespace traceagent::tools {

namespace {

using trace::ClockKnot;
using trace::JsonArray;
using trace::JsonObject;
using trace::JsonValue;

constexpr std::size_t most_nodes_in_words = 16;

// All of "clocks" is one line of the file, and readers take lines of a MiB (trace::LineReader): so
// the lists of all nodes together, that may be any number of them, get a part of it.
class RoomForLists {
 public:
  [[nodiscard]] bool take(std::size_t elements, std::size_t bytes_each) {
    const std::size_t bytes = elements * bytes_each;
    if (bytes > left_bytes_) {
      return false;
    }
    left_bytes_ -= bytes;
    return true;
  }

 private:
  std::size_t left_bytes_ = 384U << 10;
};
constexpr std::size_t knot_bytes = 44;   // two numbers of 20 digits
constexpr std::size_t step_bytes = 128;  // four, and their names
constexpr std::size_t unsure_bytes = 96;

// One node, as it is told everywhere.
struct Told {
  const ClockNode* node = nullptr;
  const ClockRoute* route = nullptr;  // none: its clock is as it is
  bool is_reference = false;
  std::string method = "none";
  std::uint64_t collectives = 0;

  [[nodiscard]] std::int64_t bound_ns() const {
    return static_cast<std::int64_t>(std::ceil(route->bound_ns));
  }
};

std::vector<std::int64_t> ranks_of(const Told& told) {
  return {told.node->ranks.begin(), told.node->ranks.end()};
}

std::vector<Told> told_nodes(const ClockReport& report) {
  std::vector<Told> all;
  for (std::size_t i = 0; i < report.nodes->size(); ++i) {
    Told told{.node = &(*report.nodes)[i]};
    if (i < report.routes.size() && report.routes[i]) {
      told.route = &*report.routes[i];
      told.is_reference = i == 0;
      told.method = "reference";
      for (const std::uint32_t edge : told.route->edges) {
        const EdgeFacts& facts = (*report.edges)[edge];
        if (told.method == "reference") {
          told.method = facts.method;
          told.collectives = facts.collectives;
        } else if (told.method.find(facts.method) == std::string::npos) {
          told.method += ", " + facts.method;
        }
      }
    }
    all.push_back(told);
  }
  for (const ClockNode& node : *report.others) {
    all.push_back({.node = &node});
  }
  return all;
}

// Of the pieces without a step in them: the slowest and the fastest.
struct Drifts {
  double least = 0;
  double most = 0;
};

Drifts drifts_of(const ClockRoute& route) {
  const std::vector<trace::ClockKnot>& knots = route.correction.knots();
  Drifts drifts;
  bool is_first = true;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const std::int64_t middle_ns = knots[i - 1].at_ns + (knots[i].at_ns - knots[i - 1].at_ns) / 2;
    const bool is_step =
        std::any_of(route.steps.begin(), route.steps.end(), [middle_ns](const ClockStep& step) {
          return step.span.from_ns <= middle_ns && middle_ns <= step.span.until_ns;
        });
    if (!is_step) {
      const double drift = route.correction.drift_at(middle_ns);
      drifts.least = is_first ? drift : std::min(drifts.least, drift);
      drifts.most = is_first ? drift : std::max(drifts.most, drift);
      is_first = false;
    }
  }
  return drifts;
}

JsonArray steps_of(const ClockRoute& route) {
  JsonArray steps;
  for (const ClockStep& step : route.steps) {
    steps.add(JsonObject()
                  .add("from_ns", step.span.from_ns)
                  .add("until_ns", step.span.until_ns)
                  .add("by_ns", std::llround(step.by_ns))
                  .add("bound_ns", static_cast<std::int64_t>(std::ceil(step.bound_ns))));
  }
  return steps;
}

JsonArray unsure_of(const ClockRoute& route) {
  JsonArray all;
  for (const ClockUnsure& each : route.unsure) {
    all.add(JsonObject()
                .add("from_ns", each.span.from_ns)
                .add("until_ns", each.span.until_ns)
                .add("by_ns", std::isfinite(each.by_ns)
                                  ? JsonValue(static_cast<std::int64_t>(std::ceil(each.by_ns)))
                                  : JsonValue(nullptr)));
  }
  return all;
}

// A list, or if it is too long how many were left out.
void add_list(const std::string& name, std::size_t count, const JsonArray& list, RoomForLists& room,
              std::size_t bytes_each, JsonObject& object) {
  if (room.take(count, bytes_each)) {
    object.add(name, list);
  } else {
    object.add(name + "_left_out", count);
  }
}

// How the times were moved, in full.
JsonArray knots_of(const trace::ClockCorrection& correction) {
  JsonArray knots;
  for (const trace::ClockKnot& knot : correction.knots()) {
    knots.add(JsonArray().add(knot.at_ns).add(knot.offset_ns));
  }
  return knots;
}

JsonObject object_of(const Told& told, RoomForLists& room) {
  JsonObject object;
  object.add("node", told.node->name).add("ranks", ranks_of(told)).add("method", told.method);
  if (told.route == nullptr) {
    object.add("offset_ns", 0).add("drift_ppm", 0).add("bound_ns", nullptr);
    return object;
  }
  const trace::ClockCorrection& correction = told.route->correction;
  const trace::ClockKnot first =
      correction.is_none() ? trace::ClockKnot() : correction.knots().front();
  const Drifts drifts = drifts_of(*told.route);
  object.add("at_ns", first.at_ns)
      .add("offset_ns", first.offset_ns)
      .add("drift_ppm", correction.drift_at(first.at_ns) * 1e6);
  if (correction.knots().size() > 2) {
    object.add("drift_ppm_least", drifts.least * 1e6).add("drift_ppm_most", drifts.most * 1e6);
  }
  object.add("bound_ns", told.bound_ns())
      .add("wander_ppm_per_minute", told.route->wander_per_second * 60e6)
      .add("collectives", told.collectives)
      .add("hops", told.route->edges.size());
  if (!told.route->steps.empty()) {
    add_list("steps", told.route->steps.size(), steps_of(*told.route), room, step_bytes, object);
  }
  if (!told.route->unsure.empty()) {
    add_list("unsure", told.route->unsure.size(), unsure_of(*told.route), room, unsure_bytes,
             object);
  }
  // Of clocks that hardly need it a list of thousands says nothing.
  constexpr std::size_t most_knots = 1000;
  object.add("pieces", correction.knots().size() < 2 ? 1 : correction.knots().size() - 1);
  if (correction.knots().size() > 2 && correction.knots().size() <= most_knots &&
      room.take(correction.knots().size(), knot_bytes)) {
    object.add("knots", knots_of(correction));
  }
  return object;
}

std::string in_words(const Told& told) {
  const std::string name = "clock of " + told.node->name + ": ";
  if (told.is_reference) {
    return name + "the one that all times are on";
  }
  if (told.route == nullptr) {
    return name + "as it is, how far off is not known";
  }
  const trace::ClockCorrection& correction = told.route->correction;
  const ClockKnot first = correction.is_none() ? ClockKnot() : correction.knots().front();
  const auto offset_ns = static_cast<double>(first.offset_ns);
  const Drifts drifts = drifts_of(*told.route);
  std::string text = name;
  if (correction.is_none()) {
    text += "as it is";
  } else {
    text += (offset_ns < 0 ? "-" : "+") + duration_in_words(std::abs(offset_ns)) + ", " +
            number_in_words(drifts.least * 1e6) +
            (correction.knots().size() > 2 ? " to " + number_in_words(drifts.most * 1e6)
                                           : std::string()) +
            " ppm";
  }
  text += ", right within " + duration_in_words(static_cast<double>(told.bound_ns())) + ", by ";
  text += (told.collectives > 0 ? std::to_string(told.collectives) + " " : "") + told.method;
  for (const ClockStep& step : told.route->steps) {
    text += step_in_words(step, first);
  }
  return text + unsure_in_words(told.route->unsure);
}

// As Composer writes it, in microseconds.
void add_metadata_events(const Told& told, ClockAlignment& alignment) {
  const JsonValue bound_us(static_cast<double>(told.bound_ns()) / 1000.0);
  for (const std::int64_t rank : told.node->ranks) {
    alignment.metadata_events.push_back(
        "{\"ph\":\"M\",\"name\":\"clock_sync_error_bound\",\"pid\":" + std::to_string(rank) +
        ",\"tid\":0,\"args\":{\"value\":" + bound_us.text() + "}}");
  }
}

void add_node(const Told& told, ClockAlignment& alignment) {
  if (told.route == nullptr) {
    return;
  }
  add_metadata_events(told, alignment);
  if (!told.route->correction.is_none()) {
    for (const std::string& path : told.node->paths) {
      alignment.corrections[path] = told.route->correction;
    }
  }
}

// Of two clocks. What nobody can see: a clock that is set, or steered, by less than the bound.
std::string assumption_in_words(const ClockLimits& limits) {
  return "clocks run at most " + number_in_words(limits.drift * 1e6) +
         " ppm apart, which changes by at most wander_ppm_per_minute; where one was set by a "
         "millisecond or more that is in steps, or the time is unsure, unless it was set more than "
         "once within seconds";
}

JsonObject metadata_of(const ClockReport& report, const std::vector<Told>& all) {
  JsonArray nodes;
  RoomForLists room;
  std::optional<std::int64_t> largest = 0;
  for (const Told& told : all) {
    nodes.add(object_of(told, room));
    largest = largest && told.route != nullptr ? std::optional(std::max(*largest, told.bound_ns()))
                                               : std::nullopt;
  }
  JsonObject clocks;
  clocks.add("clock_sync_error_bound",
             largest ? JsonValue(static_cast<double>(*largest) / 1000.0) : JsonValue(nullptr));
  if (std::any_of(all.begin(), all.end(),
                  [](const Told& told) { return told.route != nullptr && !told.is_reference; })) {
    clocks.add("bounds_hold_if", assumption_in_words(report.limits));
  }
  clocks.add("collectives", report.collectives);
  if (report.inconsistent != 0) {
    clocks.add("inconsistent", report.inconsistent);
  }
  if (report.one_of != 1) {
    clocks.add("one_of", report.one_of);
  }
  if (!report.reason.empty()) {
    clocks.add("reason", report.reason);
  }
  clocks.add("nodes", nodes);
  return JsonObject().add("clocks", clocks);
}

}  // namespace

bool ClockReport::has_all() const {
  return others->empty() && routes.size() == nodes->size() &&
         std::all_of(routes.begin(), routes.end(),
                     [](const auto& route) { return route.has_value(); });
}

ClockAlignment aligned(const ClockReport& report) {
  ClockAlignment alignment;
  const std::vector<Told> all = told_nodes(report);
  for (const Told& told : all) {
    add_node(told, alignment);
    if (all.size() <= most_nodes_in_words) {
      alignment.summary.push_back(in_words(told));
    }
  }
  alignment.metadata = metadata_of(report, all);
  if (all.size() > most_nodes_in_words) {
    alignment.summary.push_back("clocks of " + std::to_string(all.size()) +
                                " nodes: see \"clocks\" in the output");
  }
  if (!report.reason.empty()) {
    alignment.summary.push_back("clocks: " + report.reason);
  }
  return alignment;
}

}  // namespace traceagent::tools
