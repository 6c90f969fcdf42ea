#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/trace/clock_correction.hpp"
#include "agent/trace/json_object.hpp"
#include "tools/selection/event_rules.hpp"
#include "tools/selection/event_selection.hpp"

// CLI11 is seconds of work for a compiler: only who parses includes it.
namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace traceagent::tools {

// The options of `traceagent merge` that choose among the events.
struct ChoiceOptions {
  std::vector<std::string> time = {};    // START END
  std::vector<std::int64_t> steps = {};  // FIRST LAST
  bool clip = false;
  std::vector<std::string> ranks = {};  // lists such as 0,3-7; those with "=" are not ours
  std::vector<std::string> categories = {};

  [[nodiscard]] bool has_window() const { return !time.empty() || !steps.empty(); }
  [[nodiscard]] bool is_everything() const;
  // How often the inputs are read before the merge reads them.
  [[nodiscard]] unsigned first_readings() const;
};

// Decimal, whatever it begins with: CLI11 takes 020 for sixteen.
CLI::Validator whole_number();
// Of a list such as "kernel, nccl" each word without the spaces around it.
CLI::Validator without_outer_spaces();
void add_choice_options(CLI::App& command, ChoiceOptions& options);
// Throws CLI::ValidationError where they do not fit together.
void check_choice(const ChoiceOptions& options);

struct Choice {
  EventRules rules = {};
  trace::JsonObject asked = {};  // the window in the user's words
  std::string nothing = {};      // one line: why no event can be in the window; or empty
  std::string problem = {};      // one line: why it means nothing for these files; or empty
};

// Looks into the files where the options speak of their beginning, end or steps.
Choice choice_of(const ChoiceOptions& options, const std::vector<std::string>& files,
                 const std::map<std::string, trace::ClockCorrection>& corrections,
                 const std::function<void(std::uint64_t bytes)>& on_read);

// "no file that was read has a rank of 9, 12-15", of those asked for that are not among `known`; or
// empty.
std::string missing_ranks_in_words(const EventRules& rules, const std::set<std::int64_t>& known);

// Of a merge that gave no events: what the window was, and how far the inputs reach.
std::string emptiness_in_words(const Choice& choice, const SelectionCounts& counts);

}  // namespace traceagent::tools
