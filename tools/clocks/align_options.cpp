#include "tools/clocks/align_options.hpp"

#include <CLI/CLI.hpp>
#include <iostream>
#include <map>
#include <utility>

#include "tools/clocks/clock_marks.hpp"
#include "tools/command_line.hpp"

namespace traceagent::tools {

void add_align_options(CLI::App& app, AlignOptions& options) {
  static const std::map<std::string, Align> ways{{"auto", Align::automatic},
                                                 {"collectives", Align::collectives},
                                                 {"barrier", Align::barrier},
                                                 {"none", Align::none}};
  app.add_option(
         "--align", options.align,
         "What brings the nodes' clocks together: auto; collectives (those that nodes have in "
         "common); barrier (Composer's marks); none (the system clocks as they are)")
      ->transform(CLI::Validator(
          [](std::string& word) {
            const auto way = ways.find(CLI::detail::to_lower(word));
            if (way == ways.end()) {
              return "no such way: " + word + ": give auto, collectives, barrier or none";
            }
            word = std::to_string(static_cast<int>(way->second));
            return std::string();
          },
          ""))
      ->type_name("WAY")
      ->default_str("auto");
  app.add_option("--max-drift", options.max_drift_ppm,
                 "How fast two nodes' clocks may run apart at most, in ppm")
      ->check(CLI::Validator(
          [](std::string& word) {
            double ppm = 0;
            // nan is within CLI::Range.
            const bool is_drift = CLI::detail::lexical_cast(word, ppm) && ppm >= 0 && ppm <= 1000;
            return is_drift ? std::string() : "not a drift: " + word + ": give 0 to 1000 ppm";
          },
          "FLOAT in [0 - 1000]"))
      ->capture_default_str();
}

bool put_clocks_together(const std::vector<std::string>& paths, const AlignOptions& align,
                         trace::MergeOptions& merge, ProgressBar& bar) {
  ClockAlignment clocks = align_clocks(paths, align, bar);
  for (const std::string& line : clocks.summary) {
    std::cout << line << "\n";
  }
  if (!clocks.problem.empty()) {
    say(clocks.problem);
    return false;
  }
  merge.corrections = std::move(clocks.corrections);
  merge.clock = std::move(clocks.clock);
  merge.corrected_metadata_event = corrected_mark;
  merge.metadata_events = std::move(clocks.metadata_events);
  merge.metadata.add_all(clocks.metadata);
  return true;
}

}  // namespace traceagent::tools
