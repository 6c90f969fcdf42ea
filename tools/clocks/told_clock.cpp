#include "tools/clocks/told_clock.hpp"

#include <algorithm>
#include <vector>

#include "tools/clocks/clock_words.hpp"

namespace traceagent::tools {

namespace {

using trace::ClockKnot;
using trace::JsonArray;
using trace::JsonObject;
using trace::JsonValue;

constexpr std::size_t knot_bytes = 44;   // two numbers of 20 digits
constexpr std::size_t step_bytes = 128;  // four, and their names
constexpr std::size_t unsure_bytes = 96;

std::vector<std::int64_t> ranks_of(const ToldClock& told) {
  return {told.node->ranks.begin(), told.node->ranks.end()};
}

// Of the pieces without a step in them: the slowest and the fastest.
struct Drifts {
  double least = 0;
  double most = 0;
};

// Of those of at least `shortest_ns`. False: there is none.
bool find_drifts(const ClockRoute& route, std::int64_t shortest_ns, Drifts& drifts) {
  const std::vector<trace::ClockKnot>& knots = route.correction.knots();
  bool is_first = true;
  for (std::size_t i = 1; i < knots.size(); ++i) {
    const std::int64_t length_ns = knots[i].at_ns - knots[i - 1].at_ns;
    const std::int64_t middle_ns = knots[i - 1].at_ns + length_ns / 2;
    const bool is_step =
        std::any_of(route.steps.begin(), route.steps.end(), [middle_ns](const ClockStep& step) {
          return step.span.from_ns <= middle_ns && middle_ns <= step.span.until_ns;
        });
    if (is_step || length_ns < shortest_ns) continue;
    const double drift = route.correction.drift_at(middle_ns);
    drifts.least = is_first ? drift : std::min(drifts.least, drift);
    drifts.most = is_first ? drift : std::max(drifts.most, drift);
    is_first = false;
  }
  return !is_first;
}

Drifts drifts_of(const ClockRoute& route) {
  // Between closer knots what their bounds leave open is more than what clocks drift.
  constexpr std::int64_t usual_ns = 1'000'000'000;
  Drifts drifts;
  if (!find_drifts(route, usual_ns, drifts)) find_drifts(route, 0, drifts);
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

}  // namespace

JsonObject object_of(const ToldClock& told, RoomForLists& room) {
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
  object.add("bound_ns", told.bound_ns ? JsonValue(*told.bound_ns) : JsonValue(nullptr))
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
  if (told.is_unsure) object.add("earlier_is_unsure", true);
  // Of clocks that hardly need it a list of thousands says nothing.
  constexpr std::size_t most_knots = 1000;
  object.add("pieces", correction.knots().size() < 2 ? 1 : correction.knots().size() - 1);
  if (correction.knots().size() > 2 && correction.knots().size() <= most_knots &&
      room.take(correction.knots().size(), knot_bytes)) {
    object.add("knots", knots_of(correction));
  }
  return object;
}

std::string in_words(const ToldClock& told) {
  const std::string name = "clock of " + told.node->name + ": ";
  if (told.is_reference) {
    return name + "the one that others are moved to";
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
  text += told.bound_ns
              ? ", right within " + duration_in_words(static_cast<double>(*told.bound_ns)) + ", by "
              : ", how far off is not known, by ";
  text += (told.collectives > 0 ? std::to_string(told.collectives) + " " : "") + told.method;
  for (const ClockStep& step : told.route->steps) {
    text += step_in_words(step, first);
  }
  return text + unsure_in_words(told.route->unsure) +
         (told.is_unsure ? ", but where an earlier merge was unsure" : "");
}

}  // namespace traceagent::tools
