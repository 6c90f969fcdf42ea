#include "tools/merge_choice.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>

#include "agent/trace/input_order.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/process_ids.hpp"
#include "tools/selection/time_words.hpp"
#include "tools/selection/trace_range.hpp"

namespace traceagent::tools {

namespace {

std::string time_problem(const std::string& word) {
  return parse_time(word) ? std::string()
                          : "not a time: " + word +
                                ": give +2s, -500ms, 14:03:05.2, 2026-11-21T14:03:05 or "
                                "microseconds since the epoch";
}

std::string rank_problem(const std::string& list) {
  const std::size_t equals = list.rfind('=');
  if (equals == std::string::npos) {
    return !parse_ranks(list).empty() ? std::string()
                                      : "not a list of ranks: " + list + ": give one such as 0,3-7";
  }
  const auto rank = parse_ranks(list.substr(equals + 1));
  const bool is_one =
      rank.size() == 1 && rank[0].first == rank[0].second && rank[0].first < trace::pids_of_claim;
  return is_one ? std::string() : "not a rank: " + list + ": give one such as FILE=3";
}

bool needs_end(const std::vector<std::string>& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    const TimeWord::Kind kind = parse_time(word)->kind;
    return kind == TimeWord::Kind::before_end || kind == TimeWord::Kind::time_of_day;
  });
}

std::string known_steps(const StepWindow& steps) {
  std::string words = "the nearest that the inputs hold:";
  if (steps.before) {
    words += " " + std::to_string(*steps.before);
  }
  return words + (steps.from ? " " + std::to_string(steps.from->step.number) : "");
}

// "rank 1 (rank1.json)". Of what was imported the file itself is a hidden one.
std::string in_words(const StepPlace& place, const std::vector<std::string>& files) {
  const std::string& path = files[place.file];
  const std::vector<trace::MergeInput> inputs = trace::read_headers({path});
  const std::string_view name = inputs.front().header.trace_name;
  const bool is_imported = !trace::run_of(inputs.front()).mark.empty();
  return "rank " + std::to_string(place.rank) + " (" +
         (is_imported ? trace::unescaped(name.substr(0, name.rfind('#'))) : path) + ")";
}

void set_steps(const ChoiceOptions& options, const std::vector<std::string>& files,
               const TraceRange& range, Choice& choice) {
  const WantedSteps wanted{options.steps[0], options.steps[1]};
  const std::string first = std::to_string(wanted.first);
  const std::string last = std::to_string(wanted.last);
  choice.asked.add("steps", options.steps);
  if (range.steps().empty()) {
    choice.problem = "no steps: --steps " + first + " " + last + ": no input" +
                     (choice.rules.ranks.empty() ? "" : " of these ranks") +
                     " marks any, by ProfilerStep#, step_num or batch: give --time";
    return;
  }
  const StepWindow steps = step_window(range.steps(), wanted);
  if (!steps.from || steps.from->step.number >= wanted.last) {
    choice.rules.window = no_time;
    choice.nothing = "no step from " + first + " up to " + last + ": " + known_steps(steps);
    return;
  }
  if (const auto& other = steps.counted_otherwise) {
    choice.problem = "steps counted in several ways: --steps " + first + " " + last + ": " +
                     in_words(*other, files) + " begins step " +
                     std::to_string(other->step.number) + " before " +
                     in_words(*steps.from, files) + " begins step " +
                     std::to_string(steps.from->step.number) +
                     ": give --rank with those that count alike, or --time";
    return;
  }
  choice.rules.window.begin_ns = steps.from->step.begin_ns;
  if (steps.behind) {
    choice.rules.window.end_ns = steps.behind->step.begin_ns - 1;
  }
}

void set_time(const ChoiceOptions& options, const TraceRange& range, Choice& choice) {
  choice.asked.add("time", options.time);
  const TimeWord begin = *parse_time(options.time[0]);
  const TimeWord end = *parse_time(options.time[1]);
  choice.rules.window.begin_ns = resolve(begin, range.begin_ns, range.end_ns);
  choice.rules.window.end_ns =
      resolve(end, range.begin_ns, range.end_ns, choice.rules.window.begin_ns);
  if (choice.rules.window.end_ns < choice.rules.window.begin_ns) {
    throw CLI::ValidationError("--time", "END " + options.time[1] + " is before START " +
                                             options.time[0] + ": give the earlier one first");
  }
}

std::string seconds_between(std::int64_t begin_ns, std::int64_t end_ns) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6f s", static_cast<double>(end_ns - begin_ns) * 1e-9);
  return text.data();
}

}  // namespace

bool ChoiceOptions::is_everything() const {
  return !has_window() && categories.empty() &&
         std::all_of(ranks.begin(), ranks.end(),
                     [](const std::string& list) { return list.find('=') != std::string::npos; });
}

unsigned ChoiceOptions::first_readings() const {
  return (has_window() || !categories.empty() ? 1U : 0U) +
         (!steps.empty() || needs_end(time) ? 1U : 0U);
}

CLI::Validator whole_number() {
  return {[](std::string& word) {
            std::int64_t number = 0;
            const char* const end = word.data() + word.size();
            const auto read = std::from_chars(word.data(), end, number);
            if (read.ec != std::errc() || read.ptr != end) {
              return "not a whole number: " + word + ": give one such as 20";
            }
            word = std::to_string(number);
            return std::string();
          },
          ""};
}

CLI::Validator without_outer_spaces() {
  return {[](std::string& word) {
            CLI::detail::trim(word);
            return std::string();
          },
          ""};
}

void add_choice_options(CLI::App& command, ChoiceOptions& options) {
  CLI::Option* const time =
      command
          .add_option("--time", options.time,
                      "Only what overlaps the time from START to END: +2s after the beginning, -3s "
                      "before the end, begin, end, a local time such as 14:03:05.2 or "
                      "2026-11-21T14:03:05, or microseconds since the epoch")
          ->type_name("START END")
          ->type_size(2)
          ->allow_extra_args(false)  // an input behind them is one
          ->check(time_problem);
  command
      .add_option(
          "--steps", options.steps,
          "Only what overlaps the time from the beginning of step FIRST to just before "
          "that of step LAST, each where the first rank (of those of --rank) begins it; steps are "
          "ProfilerStep#, "
          "SageMaker Debugger's step_num or Composer's batch")
      ->type_name("FIRST LAST")
      ->type_size(2)
      ->transform(whole_number())
      ->allow_extra_args(false)
      ->excludes(time);
  command.add_flag("--clip", options.clip,
                   "Cut what crosses the edges of --time or --steps, which else is kept whole");
  command
      .add_option("--rank", options.ranks,
                  "Only these ranks, such as 0,3-7; or FILE=N: the rank of a file (its path, or "
                  "its name where that is one input's) that others wrote, whatever it says "
                  "itself; may be given again")
      ->type_name("LIST")
      ->allow_extra_args(false)
      ->check(rank_problem);
  command
      .add_option("--category", options.categories,
                  "Only events of these categories, such as kernel,nccl; may be given again")
      ->type_name("LIST")
      ->delimiter(',')
      ->transform(without_outer_spaces())
      ->allow_extra_args(false);
}

void check_choice(const ChoiceOptions& options) {
  if (options.clip && !options.has_window()) {
    throw CLI::ValidationError("--clip", "needs --time or --steps");
  }
  if (!options.steps.empty() && options.steps[0] >= options.steps[1]) {
    const std::string first = std::to_string(options.steps[0]);
    throw CLI::ValidationError("--steps", "LAST is the first step that is left out: for step " +
                                              first + " alone give " + first + " " +
                                              std::to_string(options.steps[0] + 1));
  }
}

Choice choice_of(const ChoiceOptions& options, const std::vector<std::string>& files,
                 const std::map<std::string, trace::ClockCorrection>& corrections,
                 const std::function<void(std::uint64_t)>& on_read) {
  Choice choice;
  choice.rules.clip = options.clip;
  for (const std::string& list : options.ranks) {
    const auto ranges =
        list.find('=') == std::string::npos ? parse_ranks(list) : decltype(choice.rules.ranks)();
    choice.rules.ranks.insert(choice.rules.ranks.end(), ranges.begin(), ranges.end());
  }
  for (const std::string& category : options.categories) {
    choice.rules.categories.push_back(category_in_json(category));
  }
  if (!options.has_window()) {
    return choice;
  }
  RangeQuestion question;
  question.corrections = &corrections;
  question.on_read = on_read;
  question.end = needs_end(options.time);
  if (!options.steps.empty()) {
    question.steps = WantedSteps{options.steps[0], options.steps[1]};
    question.rules = &choice.rules;
  }
  const TraceRange range = range_of(files, question);
  if (range.begin_ns == TraceRange().begin_ns && options.steps.empty()) {
    return choice;  // no event anywhere: nothing to choose from
  }
  if (options.steps.empty()) {
    set_time(options, range, choice);
  } else {
    set_steps(options, files, range, choice);
  }
  return choice;
}

std::string missing_ranks_in_words(const EventRules& rules, const std::set<std::int64_t>& known) {
  std::string list;
  // A range may hold more ranks than anybody counts.
  const auto add = [&list](std::int64_t first, std::int64_t last) {
    if (first > last) return;
    list += (list.empty() ? "" : ", ") + std::to_string(first);
    if (last > first) list += "-" + std::to_string(last);
  };
  for (const auto& [first, last] : rules.ranks) {
    std::int64_t from = first;
    for (auto at = known.lower_bound(first); at != known.end() && *at <= last; ++at) {
      add(from, *at - 1);
      from = *at + 1;
    }
    add(from, last);
  }
  return list.empty() ? "" : "no file that was read has a rank of " + list;
}

std::string emptiness_in_words(const Choice& choice, const SelectionCounts& counts) {
  std::string words = "no events: ";
  const TimeWindow& window = choice.rules.window;
  if (!choice.nothing.empty()) {
    words += choice.nothing;
  } else if (!window.is_everything()) {
    words += "of what was asked for nothing lies between " + time_in_words(window.begin_ns) +
             " and " + time_in_words(window.end_ns);
  } else {
    words += "nothing is of what was asked for";
  }
  if (counts.begin_ns <= counts.end_ns) {
    words += "; the inputs reach from " + time_in_words(counts.begin_ns) + " to " +
             time_in_words(counts.end_ns) + " (" + seconds_between(counts.begin_ns, counts.end_ns) +
             ")";
  }
  return words;
}

}  // namespace traceagent::tools
