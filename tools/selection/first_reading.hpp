#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "agent/trace/merge_input.hpp"
#include "tools/selection/event_rules.hpp"
#include "tools/selection/paired_events.hpp"
#include "tools/selection/verdicts.hpp"

namespace traceagent::tools {

// Reads inputs as one, in the order of time, and judges those of their events that cannot be judged
// alone (PairedEvents). Like the merge it opens each when its time has come. `on_read`, or null, is
// told the bytes as they come.
struct FirstReading {
  Verdicts verdicts;
  PairedEvents::CarriedCounters carried;
};
FirstReading first_reading(const std::vector<const trace::MergeInput*>& inputs,
                           const EventRules& rules,
                           const std::function<void(std::uint64_t)>& on_read);

}  // namespace traceagent::tools
