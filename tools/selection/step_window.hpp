#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>

namespace traceagent::tools {

// The first and the last of --steps, in whatever way they are marked.
struct WantedSteps {
  std::int64_t first = 0;
  std::int64_t last = 0;  // the first that is no longer meant
};

// Of all steps of a rank in a file those that decide on a window's edges: there may be as many as
// events.
struct StepEdges {
  struct Step {
    std::int64_t number = 0;
    std::int64_t begin_ns = 0;  // where it begins first
  };
  std::optional<std::int64_t> before;          // the number of the last one below the first
  std::optional<Step> from;                    // the lowest that is not below the first
  std::optional<Step> behind;                  // the lowest that is not below the last
  std::optional<std::int64_t> last_wanted_ns;  // where the last between the two begins

  [[nodiscard]] bool are_any() const { return before || from; }
  void add(const Step& step, const WantedSteps& wanted);
};

// By number of the file, and rank.
using StepsOfRanks = std::map<std::pair<std::size_t, std::int64_t>, StepEdges>;

struct StepPlace {
  std::size_t file = 0;
  std::int64_t rank = 0;
  StepEdges::Step step = {};
};

// One window for all ranks: from where the first of them begins the first step to where the first
// of them begins the last.
struct StepWindow {
  std::optional<std::int64_t> before;  // StepEdges'
  std::optional<StepPlace> from;       // may be one that is no longer meant
  std::optional<StepPlace> behind;
  // A rank that has begun a step behind the window's last before the window begins, and none within
  // the window since: it counts its steps otherwise, and there is no one window.
  std::optional<StepPlace> counted_otherwise;
};
StepWindow step_window(const StepsOfRanks& steps, const WantedSteps& wanted);

}  // namespace traceagent::tools
