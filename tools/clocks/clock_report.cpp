#include "tools/clocks/clock_report.hpp"

#include <algorithm>
#include <cmath>

#include "tools/clocks/clock_words.hpp"
#include "tools/clocks/merged_clock.hpp"
#include "tools/clocks/told_clock.hpp"

namespace traceagent::tools {

namespace {

using trace::JsonArray;
using trace::JsonObject;
using trace::JsonValue;

constexpr std::size_t most_nodes_in_words = 16;

// How far off its own times may be on that clock.
void add_earlier(const ClockNode& node, ToldClock& told) {
  if (!node.earlier_bound_ns) told.bound_ns.reset();
  if (told.bound_ns) *told.bound_ns += *node.earlier_bound_ns + node.host_error_ns;
  told.is_unsure = told.is_unsure || node.is_unsure;
}

// What is known of how far off that node's times are the difference allows for already: its
// collectives and marks have told of it.
void add_end_of_edge(const EdgeFacts& facts, const ClockNode& node, ToldClock& told) {
  if (node.has_several_clocks) told.bound_ns.reset();
  if (facts.collectives == 0) return;
  if (!node.earlier_bound_ns) told.bound_ns.reset();
  told.is_unsure = told.is_unsure || node.is_unsure;
}

std::vector<ToldClock> told_nodes(const ClockReport& report) {
  std::vector<ToldClock> all;
  for (std::size_t i = 0; i < report.nodes->size(); ++i) {
    ToldClock told{.node = &(*report.nodes)[i]};
    if (i < report.routes.size() && report.routes[i]) {
      told.route = &*report.routes[i];
      told.is_reference = i == 0;
      told.method = "reference";
      told.bound_ns = static_cast<std::int64_t>(std::ceil(told.route->bound_ns));
      if (i != 0) *told.bound_ns += report.nodes->front().host_error_ns;
      add_earlier(*told.node, told);
      for (const std::uint32_t edge : told.route->edges) {
        const EdgeFacts& facts = (*report.edges)[edge];
        told.is_unsure = told.is_unsure || facts.is_unsure;
        for (const std::uint32_t end : {facts.from, facts.to}) {
          if (end != i) add_end_of_edge(facts, (*report.nodes)[end], told);
        }
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

// As Composer writes it, in microseconds.
void add_metadata_events(const ToldClock& told, ClockAlignment& alignment) {
  if (!told.bound_ns) return;
  const JsonValue bound_us(static_cast<double>(*told.bound_ns) / 1000.0);
  for (const std::int64_t rank : told.node->ranks) {
    alignment.metadata_events.push_back(
        "{\"ph\":\"M\",\"name\":\"clock_sync_error_bound\",\"pid\":" + std::to_string(rank) +
        ",\"tid\":0,\"args\":{\"value\":" + bound_us.text() + "}}");
  }
}

void add_node(const ToldClock& told, ClockAlignment& alignment) {
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

bool uses_barrier(const std::vector<ToldClock>& all) {
  return std::any_of(all.begin(), all.end(), [](const ToldClock& told) {
    return told.method.find("barrier") != std::string::npos;
  });
}

// Of two clocks. What nobody can see: a clock that is set by little, or slewed.
std::string assumption_in_words(const ClockLimits& limits, bool with_barrier) {
  return "clocks run at most " + number_in_words(limits.drift * 1e6) +
         " ppm apart, which changes by at most wander_ppm_per_minute (NTP has slewed none faster), "
         "and none was set by less than a millisecond; where one was set by more that is in steps, "
         "or the time is unsure, unless it was set more than once within seconds" +
         (with_barrier
              ? "; all files are of one run, whose clocks were not set between its barriers "
                "nor beyond, and where their marks tell no batch as many are the same"
              : "");
}

JsonObject metadata_of(const ClockReport& report, const std::vector<ToldClock>& all) {
  JsonArray nodes;
  RoomForLists room;
  std::optional<std::int64_t> largest = 0;
  for (const ToldClock& told : all) {
    nodes.add(object_of(told, room));
    largest =
        largest && told.bound_ns ? std::optional(std::max(*largest, *told.bound_ns)) : std::nullopt;
  }
  JsonObject clocks;
  clocks.add("clock_sync_error_bound",
             largest ? JsonValue(static_cast<double>(*largest) / 1000.0) : JsonValue(nullptr));
  if (std::any_of(all.begin(), all.end(), [](const ToldClock& told) {
        return told.route != nullptr && !told.is_reference;
      })) {
    clocks.add("bounds_hold_if", assumption_in_words(report.limits, uses_barrier(all)));
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

MergedClock merged_clock_of(const ClockReport& report, const std::vector<ToldClock>& all) {
  MergedClock clock;
  clock.has_several = !report.has_all();
  if (clock.has_several) return clock;
  clock.of = report.nodes->front().clock;
  clock.bound_ns = 0;
  for (const ToldClock& told : all) {
    clock.bound_ns = clock.bound_ns && told.bound_ns
                         ? std::optional(std::max(*clock.bound_ns, *told.bound_ns))
                         : std::nullopt;
    clock.is_unsure = clock.is_unsure || told.is_unsure || !told.route->unsure.empty() ||
                      !told.route->steps.empty();
  }
  return clock;
}

}  // namespace

bool ClockReport::has_all() const {
  return others->empty() &&
         std::none_of(nodes->begin(), nodes->end(),
                      [](const ClockNode& node) { return node.has_several_clocks; }) &&
         routes.size() == nodes->size() &&
         std::all_of(routes.begin(), routes.end(),
                     [](const auto& route) { return route.has_value(); });
}

ClockAlignment aligned(const ClockReport& report) {
  ClockAlignment alignment;
  const std::vector<ToldClock> all = told_nodes(report);
  for (const ToldClock& told : all) {
    add_node(told, alignment);
    if (all.size() <= most_nodes_in_words) {
      alignment.summary.push_back(in_words(told));
    }
  }
  alignment.metadata = metadata_of(report, all);
  alignment.clock = merged_clock_of(report, all).text();
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
