#include "config/option_setter.hpp"

#include "config/cycle_names.hpp"
#include "config/name_template.hpp"
#include "config/nearest.hpp"
#include "config/option_keys.hpp"
#include "config/pattern_list.hpp"
#include "config/plain_text.hpp"
#include "config/remote_target.hpp"
#include "config/template_check.hpp"
#include "config/value.hpp"

namespace traceagent::config {
namespace {

constexpr std::size_t most_problems = 20;
constexpr std::string_view schedule_group = "schedule";

std::string shown(const OptionRow& row, std::string_view text) {
  const bool is_remote = row.type == OptionType::file_remote || row.type == OptionType::node_remote;
  return is_remote ? shown_target(text) : std::string(text);
}

}  // namespace

std::string& OptionSetter::origin_of(const OptionRow& row) {
  return origins_[static_cast<std::size_t>(&row - option_rows().data())];
}

bool OptionSetter::is_null(const OptionRow& row) const {
  const auto* const field = std::get_if<std::optional<std::string> Options::*>(&row.field);
  return field != nullptr && !(loaded_.options.*(*field)).has_value();
}

void OptionSetter::set(const OptionRow& row, const std::string& where, bool names_key,
                       std::optional<std::string_view> text) {
  const std::string why = assign(loaded_.options, row, text);
  if (row.key == "output.remote") is_remote_refused_ = !why.empty();
  if (why.empty()) {
    origin_of(row) = where;
    return;
  }
  std::string value = text ? in_quotes(shown(row, *text)) : "null";
  if (names_key) value = std::string(row.key) + ": " + value;
  problem("bad value", where, value, why, using_instead(row));
}

void OptionSetter::set_schedule(const std::string& where, std::string_view compact) {
  while (!compact.empty()) {
    const std::size_t comma = compact.find(',');
    const std::string_view part = trimmed(compact.substr(0, comma));
    compact.remove_prefix(comma == std::string_view::npos ? compact.size() : comma + 1);
    if (!part.empty()) set_schedule_part(where, part);
  }
}

void OptionSetter::set_schedule_part(const std::string& where, std::string_view part) {
  const std::size_t equals = part.find('=');
  const std::string_view name = trimmed(part.substr(0, equals));
  const OptionRow* const row = find_option(std::string(schedule_group) + '.' + std::string(name));
  if (row == nullptr) {
    problem("unknown option", where, in_quotes(name),
            nearest_in_words(name, {"skip_first", "wait", "warmup", "active", "repeat"}),
            "ignored");
  } else if (equals == std::string_view::npos) {
    problem("bad value", where, in_quotes(part),
            "the number is missing, such as in " + std::string(name) + "=1", using_instead(*row));
  } else {
    set(*row, where, true, trimmed(part.substr(equals + 1)));
  }
}

void OptionSetter::problem(std::string_view what, std::string_view where, std::string_view value,
                           std::string_view why, std::string_view instead) {
  if (loaded_.problems.size() >= most_problems) {
    ++left_out_;
    return;
  }
  std::string line;
  for (const std::string_view part : {what, where, value}) {
    if (!part.empty()) line += std::string(part) + ": ";
  }
  loaded_.problems.push_back({line + std::string(why) + "; " + std::string(instead)});
}

std::string OptionSetter::using_instead(const OptionRow& row) const {
  const std::string value = shown(row, show(loaded_.options, row));
  const bool is_default = value == show(Options{}, row);
  return (is_default ? "using the default " : "using ") + (value.empty() ? "\"\"" : value);
}

void OptionSetter::check_whole() {
  check_schedule();
  check_epoch();
  check_names();
  if (!check_keep()) check_filename();
  check_merged_remote();
  check_include();
  if (left_out_ > 0) {
    loaded_.problems.push_back(
        {"more problems with options: " + std::to_string(left_out_) + " are not shown"});
  }
}

void OptionSetter::check_schedule() {
  const Schedule schedule = schedule_of(loaded_.options);
  const std::string why = refusal(schedule);
  if (why.empty()) return;
  const Options defaults;
  std::string where;
  for (const OptionRow& row : option_rows()) {
    if (group_of(row.key) != schedule_group) continue;
    const std::string& origin = origin_of(row);
    if (where.find(origin) == std::string::npos) where += (where.empty() ? "" : ", ") + origin;
    const auto field = std::get<std::uint64_t Options::*>(row.field);
    loaded_.options.*field = defaults.*field;
  }
  problem("impossible schedule", where, show(schedule), why,
          "using the default " + show(schedule_of(defaults)));
}

// Without epochs the schedule is what was asked for, in steps of the whole run. Any other one would
// record what nobody asked for.
void OptionSetter::check_epoch() {
  std::uint64_t& per_epoch = loaded_.options.step_per_epoch;
  const Schedule schedule = schedule_of(loaded_.options);
  if (per_epoch == 0 || records_in_epoch(schedule, per_epoch)) return;
  problem("impossible schedule", origin_of(*find_option("step.per_epoch")), show(schedule),
          "it begins anew with each epoch, and an epoch has only " + std::to_string(per_epoch) +
              " steps (step.per_epoch)",
          "using step.per_epoch 0");
  per_epoch = 0;
}

void OptionSetter::check_names() {
  for (const OptionRow& row : option_rows()) {
    if (origin_of(row).empty() || is_null(row)) continue;
    const std::string text = show(loaded_.options, row);
    for (const std::string& doubt : doubts_about(row.type, text, loaded_.options)) {
      problem("doubtful name", origin_of(row), in_quotes(shown(row, text)), doubt,
              "it stays as it is");
    }
  }
}

void OptionSetter::check_merged_remote() {
  const Options& options = loaded_.options;
  const std::string why = no_node_file();
  if (!options.output_merged_remote || why.empty()) return;
  problem("output.merged_remote", origin_of(*find_option("output.merged_remote")),
          in_quotes(shown_target(*options.output_merged_remote)),
          why + ", so that there is no such file", "nothing is uploaded there");
}

// Why there is none; empty: there is.
std::string OptionSetter::no_node_file() const {
  if (loaded_.options.merge_mode == "off") return "merge.mode is off";
  return loaded_.options.output_merged ? "" : "output.merged is null";
}

// What would be ignored without a word: no file is found, and that is no error at the job's end.
void OptionSetter::check_include() {
  const std::string& list = loaded_.options.merge_include;
  if (list.empty()) return;
  const std::string& where = origin_of(*find_option("merge.include"));
  if (const std::string why = no_node_file(); !why.empty()) {
    problem("doubtful merge.include", where, in_quotes(list),
            why + ", so that there is no node file to include them in",
            "nothing is included: let there be one, or leave merge.include out");
    return;
  }
  for (const std::string& pattern : patterns_of(list)) {
    const std::string doubt = doubt_about_pattern(pattern);
    if (!doubt.empty()) {
      problem("doubtful merge.include", where, in_quotes(pattern), doubt, "it stays as it is");
    }
  }
}

// All but the first would wait in memory.
void OptionSetter::check_filename() {
  const Options& options = loaded_.options;
  if (options.output_overwrite || !cycles_share_name(options.output_filename, options)) return;
  problem("doubtful output.filename", origin_of(*find_option("output.filename")),
          in_quotes(options.output_filename), "its cycles would write the same",
          "it stays as it is: name {batch}, or set output.overwrite to keep the last");
}

// What is wrong with removing what is uploaded; empty: nothing.
std::string OptionSetter::loss_by_keep() const {
  const Options& options = loaded_.options;
  if (options.output_keep < 0) return {};
  if (!options.output_remote) {
    return is_remote_refused_
               ? "output.remote was refused, and what it does not have would be removed"
               : "";
  }
  // Who has each replaced here wants no more there.
  if (options.output_overwrite) return {};
  const bool is_whole = is_trace_name(*options.output_remote);
  const std::string name = is_whole ? "" : "/" + options.output_filename;
  if (!cycles_share_name(*options.output_remote + name, options)) return {};
  return std::string("cycles have one name in ") +
         (is_whole ? "output.remote" : "output.filename") +
         ", and would replace those that are removed here: name {batch}";
}

// What would be removed unseen. True: said.
bool OptionSetter::check_keep() {
  const std::string why = loss_by_keep();
  if (why.empty()) return false;
  const OptionRow& row = *find_option("output.keep");
  const std::string value = show(loaded_.options, row);
  loaded_.options.output_keep = -1;
  problem("output.keep", origin_of(row), value, why, "using -1");
  return true;
}

}  // namespace traceagent::config
