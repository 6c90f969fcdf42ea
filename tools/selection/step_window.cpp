#include "tools/selection/step_window.hpp"

#include <algorithm>

namespace traceagent::tools {

namespace {

std::pair<std::int64_t, std::int64_t> by_number(const StepEdges::Step& step) {
  return {step.number, step.begin_ns};
}

void take_lower(std::optional<StepEdges::Step>& lowest, const StepEdges::Step& step) {
  if (!lowest || by_number(step) < by_number(*lowest)) lowest = step;
}

void take_lower(std::optional<StepPlace>& lowest, const StepPlace& place) {
  if (!lowest || by_number(place.step) < by_number(lowest->step)) lowest = place;
}

// Of a rank, in all of its files.
struct RankAtBegin {
  std::optional<StepPlace> behind;  // begun by then
  bool is_within_later = false;     // it begins a wanted step then, or later
};

std::optional<StepPlace> counted_otherwise(const StepsOfRanks& steps, std::int64_t begin_ns) {
  std::map<std::int64_t, RankAtBegin> ranks;
  for (const auto& [key, edges] : steps) {
    RankAtBegin& rank = ranks[key.second];
    const bool is_behind = edges.behind && edges.behind->begin_ns <= begin_ns;
    if (is_behind) take_lower(rank.behind, {key.first, key.second, *edges.behind});
    const bool is_within = edges.last_wanted_ns && *edges.last_wanted_ns >= begin_ns;
    rank.is_within_later = rank.is_within_later || is_within;
  }
  for (const auto& [number, rank] : ranks) {
    if (rank.behind && !rank.is_within_later) return rank.behind;
  }
  return std::nullopt;
}

}  // namespace

void StepEdges::add(const Step& step, const WantedSteps& wanted) {
  if (step.number < wanted.first) before = std::max(before.value_or(step.number), step.number);
  if (step.number >= wanted.first) take_lower(from, step);
  if (step.number >= wanted.last) take_lower(behind, step);
  if (step.number >= wanted.first && step.number < wanted.last) {
    last_wanted_ns = std::max(last_wanted_ns.value_or(step.begin_ns), step.begin_ns);
  }
}

StepWindow step_window(const StepsOfRanks& steps, const WantedSteps& wanted) {
  StepWindow window;
  for (const auto& [key, edges] : steps) {
    if (edges.before)
      window.before = std::max(window.before.value_or(*edges.before), *edges.before);
    if (edges.from) take_lower(window.from, {key.first, key.second, *edges.from});
  }
  if (!window.from || window.from->step.number >= wanted.last) return window;
  const std::int64_t begin_ns = window.from->step.begin_ns;
  // One that began before is of an earlier count: a rank may have begun anew in another file.
  for (const auto& [key, edges] : steps) {
    const bool is_later = edges.behind && edges.behind->begin_ns > begin_ns;
    if (is_later) take_lower(window.behind, {key.first, key.second, *edges.behind});
  }
  window.counted_otherwise = counted_otherwise(steps, begin_ns);
  return window;
}

}  // namespace traceagent::tools
