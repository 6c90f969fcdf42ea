#pragma once

#include <map>
#include <string>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "agent/trace/json_object.hpp"
#include "tools/progress_bar.hpp"

namespace traceagent::tools {

enum class Align { automatic, collectives, barrier, none };

struct AlignOptions {
  Align align = Align::automatic;
  // How fast two nodes' clocks may run apart. Computers' quartz is good to 100 ppm, and the kernel
  // lets NTP change its rate by 500 ppm at most for a while.
  double max_drift_ppm = 200;
};

struct ClockAlignment {
  std::map<std::string, trace::ClockCorrection> corrections;  // by path
  std::string clock;                                          // trace::MergeOptions' one
  std::vector<std::string> metadata_events;                   // Composer's clock_sync_error_bound
  trace::JsonObject metadata;        // "clocks"; empty where all files are of one clock
  std::vector<std::string> summary;  // lines for people
  std::string problem;               // what was asked for cannot be done: one line, or empty
};

// The nodes' clocks on that of the one with the lowest rank: by the marks of Composer's barrier, or
// by the collectives that nodes have in common (clock_pair.hpp). Where neither can be had the
// system clocks stay as they are, with a bound that is said to be unknown; as problem only where
// it was asked for by name. So do, unless collectives are asked for by name, those of files that
// say no node where all collectives allow it: they may be of one; and where any of theirs
// contradict each other: they may be of different runs. Files of one node are not read
// beyond their heads. What was found must agree with all marks and collectives, or it is taken back
// (clock_agreement.hpp). `bar` shows how far the reading is.
ClockAlignment align_clocks(const std::vector<std::string>& paths, const AlignOptions& options,
                            ProgressBar& bar);

}  // namespace traceagent::tools
