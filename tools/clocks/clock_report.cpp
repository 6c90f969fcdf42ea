#include "tools/clocks/clock_report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace traceagent::tools {

namespace {

using trace::JsonArray;
using trace::JsonObject;
using trace::JsonValue;

constexpr std::size_t most_nodes_in_words = 16;

// One node, as it is told everywhere.
struct Told {
  const ClockNode* node = nullptr;
  const ClockRoute* route = nullptr;  // none: its clock is as it is
  bool is_reference = false;
  std::string method = "none";
  std::uint64_t collectives = 0;

  [[nodiscard]] std::int64_t bound_ns() const {
    return static_cast<std::int64_t>(
        std::ceil(std::max(route->bound_from_ns, route->bound_until_ns)));
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

JsonObject object_of(const Told& told) {
  JsonObject object;
  object.add("node", told.node->name).add("ranks", ranks_of(told)).add("method", told.method);
  if (told.route == nullptr) {
    object.add("offset_ns", 0).add("drift_ppm", 0).add("bound_ns", nullptr);
    return object;
  }
  const trace::ClockCorrection& correction = told.route->correction;
  object.add("at_ns", correction.reference_ns)
      .add("offset_ns", correction.offset_ns)
      .add("drift_ppm", correction.drift * 1e6)
      .add("bound_ns", told.bound_ns())
      .add("bound_middle_ns", static_cast<std::int64_t>(std::ceil(told.route->bound_middle_ns)))
      .add("collectives", told.collectives)
      .add("hops", told.route->edges.size());
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
  const double offset_ns = static_cast<double>(told.route->correction.offset_ns);
  std::string text = name + (offset_ns < 0 ? "-" : "+") + duration_in_words(std::abs(offset_ns)) +
                     ", " + number_in_words(told.route->correction.drift * 1e6) +
                     " ppm, right within " +
                     duration_in_words(static_cast<double>(told.bound_ns())) +
                     " if clocks run evenly over the trace, by ";
  return text + (told.collectives > 0 ? std::to_string(told.collectives) + " " : "") + told.method;
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

JsonObject metadata_of(const ClockReport& report, const std::vector<Told>& all) {
  JsonArray nodes;
  std::optional<std::int64_t> largest = 0;
  for (const Told& told : all) {
    nodes.add(object_of(told));
    largest = largest && told.route != nullptr ? std::optional(std::max(*largest, told.bound_ns()))
                                               : std::nullopt;
  }
  JsonObject clocks;
  clocks.add("clock_sync_error_bound",
             largest ? JsonValue(static_cast<double>(*largest) / 1000.0) : JsonValue(nullptr));
  // A line is all that is known of them: a clock that NTP steers bends in between.
  if (std::any_of(all.begin(), all.end(),
                  [](const Told& told) { return told.route != nullptr && !told.is_reference; })) {
    clocks.add("bounds_hold_if", "clocks run evenly over the trace");
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

std::string number_in_words(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string duration_in_words(double ns) {
  constexpr struct {
    double ns;
    const char* unit;
  } units[] = {{1e9, " s"}, {1e6, " ms"}, {1e3, " us"}};
  char text[48];
  for (const auto& unit : units) {
    if (ns >= unit.ns) {
      std::snprintf(text, sizeof text, "%.6g%s", ns / unit.ns, unit.unit);
      return text;
    }
  }
  std::snprintf(text, sizeof text, "%.0f ns", ns);
  return text;
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
