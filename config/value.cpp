#include "config/value.hpp"

#include <charconv>
#include <vector>

#include "config/counter_names.hpp"
#include "config/name_template.hpp"
#include "config/nearest.hpp"
#include "config/plain_text.hpp"
#include "config/remote_target.hpp"
#include "config/signal_names.hpp"
#include "config/step_mark.hpp"
#include "config/units.hpp"

namespace traceagent::config {
namespace {

// Nothing longer is a path, and templates multiply what they are given.
constexpr std::size_t longest_text = 4096;

std::string lowered(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

std::string assign_boolean(bool& field, std::string_view text) {
  const std::string word = lowered(trimmed(text));
  if (word == "true" || word == "1" || word == "yes" || word == "on") {
    field = true;
  } else if (word == "false" || word == "0" || word == "no" || word == "off") {
    field = false;
  } else {
    return "not true or false";
  }
  return {};
}

template <typename Number>
std::string read_whole_number(std::string_view text, Number& number) {
  text = trimmed(text);
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc::result_out_of_range) return "too large";
  if (read.ec != std::errc() || read.ptr != end) {
    return std::is_signed_v<Number> ? "not a whole number" : "not a whole number from 0";
  }
  return {};
}

std::string assign_integer(std::int64_t& field, const Rule& rule, std::string_view text) {
  std::int64_t value = 0;
  if (std::string problem = read_whole_number(text, value); !problem.empty()) return problem;
  if (value < rule.lowest) return "less than " + std::to_string(rule.lowest);
  field = value;
  return {};
}

std::string assign_count(std::uint64_t& field, std::string_view text) {
  std::uint64_t value = 0;
  if (std::string problem = read_whole_number(text, value); !problem.empty()) return problem;
  field = value;
  return {};
}

std::string assign_quantity(std::uint64_t& field, const OptionRow& row, std::string_view text) {
  const bool is_size = row.type != OptionType::duration;
  Quantity read = is_size ? parse_bytes(text) : parse_duration(text);
  if (!read.problem.empty()) return std::move(read.problem);
  const std::uint64_t lowest =
      row.rule.lowest > 0 ? static_cast<std::uint64_t>(row.rule.lowest) : 0;
  const bool is_no_limit = row.type == OptionType::nullable_bytes && read.value == 0;
  if (read.value < lowest && !is_no_limit) {
    return "less than " + (is_size ? show_bytes(lowest) : show_duration(lowest));
  }
  field = read.value;
  return {};
}

std::vector<std::string_view> choices_of(std::string_view joined) {
  std::vector<std::string_view> choices;
  while (true) {
    const std::size_t bar = joined.find('|');
    choices.push_back(joined.substr(0, bar));
    if (bar == std::string_view::npos) return choices;
    joined.remove_prefix(bar + 1);
  }
}

std::string choice_problem(std::string_view text, std::string_view joined) {
  const std::vector<std::string_view> choices = choices_of(joined);
  std::string list;
  for (const std::string_view choice : choices) {
    if (text == choice) return {};
    if (!list.empty()) list += ", ";
    list += choice;
  }
  std::string problem = "not one of " + list;
  const std::string_view near = nearest(text, choices);
  if (!near.empty()) problem += ", the nearest is " + std::string(near);
  return problem;
}

constexpr const char* no_utf8 = "it is not UTF-8";

// Of a file that is not wanted, as other options would say it.
std::string merged_name_problem(std::string_view text) {
  const std::string word = lowered(text);
  for (const std::string_view none : {"none", "off", "false", "no"}) {
    if (word == none) return "null means none";
  }
  return is_utf8(text) ? template_problem(text) : no_utf8;
}

std::string text_problem(const OptionRow& row, std::string_view text) {
  if (row.rule.refuses_empty && text.empty()) return "it is empty";
  if (text.size() > longest_text) return "longer than 4096 bytes";
  if (has_control_character(text)) return "it has a control character in it";
  switch (row.type) {
    case OptionType::choice:
      return choice_problem(text, row.rule.choices);
    case OptionType::step_mark:
      return parse_step_mark(text).problem;
    case OptionType::signal_list:
      return parse_signals(text).problem;
    case OptionType::counter_list:
      return parse_counters(text).problem;
    case OptionType::node_name_template:
      return template_problem(text);
    case OptionType::nullable_name_template:
      return merged_name_problem(text);
    case OptionType::file_name_template:
      return is_utf8(text) ? template_problem(text) : no_utf8;
    case OptionType::file_remote:
    case OptionType::node_remote:
      if (!is_utf8(text)) return no_utf8;
      return remote_problem(text, row.type == OptionType::file_remote);
    default:
      return {};
  }
}

std::string assign_text(std::string& field, const OptionRow& row, std::string_view text) {
  std::string problem = text_problem(row, text);
  if (problem.empty()) field = text;
  return problem;
}

std::string assign_nullable(std::optional<std::string>& field, const OptionRow& row,
                            std::optional<std::string_view> text) {
  if (!text || text->empty()) {
    field.reset();
    return {};
  }
  std::string problem = text_problem(row, *text);
  if (problem.empty()) field = std::string(*text);
  return problem;
}

std::string assign_percent(std::uint64_t& field, std::string_view text) {
  Quantity read = parse_percent(text);
  if (read.problem.empty()) field = read.value;
  return std::move(read.problem);
}

// Null is no limit.
bool is_limit(const OptionRow& row) {
  return row.type == OptionType::percent || row.type == OptionType::nullable_bytes;
}

std::string assign_unsigned(std::uint64_t& field, const OptionRow& row, std::string_view text) {
  if (row.type == OptionType::count) return assign_count(field, text);
  return row.type == OptionType::percent ? assign_percent(field, text)
                                         : assign_quantity(field, row, text);
}

struct Assign {
  Options& options;
  const OptionRow& row;
  std::optional<std::string_view> text;

  std::string operator()(bool Options::*field) const {
    return text ? assign_boolean(options.*field, *text) : null_refused();
  }
  std::string operator()(std::string Options::*field) const {
    return text ? assign_text(options.*field, row, *text) : null_refused();
  }
  std::string operator()(std::optional<std::string> Options::*field) const {
    return assign_nullable(options.*field, row, text);
  }
  std::string operator()(std::int64_t Options::*field) const {
    return text ? assign_integer(options.*field, row.rule, *text) : null_refused();
  }
  std::string operator()(std::uint64_t Options::*field) const {
    if (text) return assign_unsigned(options.*field, row, *text);
    if (!is_limit(row)) return null_refused();
    options.*field = 0;
    return {};
  }

  static std::string null_refused() { return "it must have a value"; }
};

struct Show {
  const Options& options;
  const OptionRow& row;

  std::string operator()(bool Options::*field) const { return options.*field ? "true" : "false"; }
  std::string operator()(std::string Options::*field) const { return options.*field; }
  std::string operator()(std::optional<std::string> Options::*field) const {
    return (options.*field).value_or("null");
  }
  std::string operator()(std::int64_t Options::*field) const {
    return std::to_string(options.*field);
  }
  std::string operator()(std::uint64_t Options::*field) const {
    if (row.type == OptionType::bytes) return show_bytes(options.*field);
    if (row.type == OptionType::nullable_bytes) {
      return options.*field == 0 ? "null" : show_bytes(options.*field);
    }
    if (row.type == OptionType::percent) return show_percent(options.*field);
    if (row.type == OptionType::duration) return show_duration(options.*field);
    return std::to_string(options.*field);
  }
};

}  // namespace

std::string assign(Options& options, const OptionRow& row, std::optional<std::string_view> text) {
  return std::visit(Assign{options, row, text}, row.field);
}

std::string show(const Options& options, const OptionRow& row) {
  return std::visit(Show{options, row}, row.field);
}

}  // namespace traceagent::config
