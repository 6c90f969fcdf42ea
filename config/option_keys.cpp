#include "config/option_keys.hpp"

#include <algorithm>
#include <vector>

#include "config/nearest.hpp"

namespace traceagent::config {
namespace {

constexpr std::string_view variable_prefix = "TRACEAGENT_";
constexpr std::string_view internal_prefix = "TRACEAGENT_INTERNAL_";

std::vector<std::string> known_variables() {
  std::vector<std::string> known = {std::string(config_variable), std::string(schedule_variable),
                                    std::string(library_variable), std::string(mpirun_variable)};
  for (const OptionRow& row : option_rows()) {
    known.push_back(environment_name(row.key));
    if (!row.alias.empty()) known.emplace_back(row.alias);
  }
  return known;
}

}  // namespace

const OptionRow* find_option(std::string_view key) {
  for (const OptionRow& row : option_rows()) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

const OptionRow* find_option_of_variable(std::string_view variable) {
  for (const OptionRow& row : option_rows()) {
    if (environment_name(row.key) == variable) return &row;
    if (!row.alias.empty() && row.alias == variable) return &row;
  }
  return nullptr;
}

std::string_view group_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

bool is_group(std::string_view name) {
  if (name.empty()) return false;
  return std::ranges::any_of(option_rows(),
                             [&](const OptionRow& row) { return group_of(row.key) == name; });
}

bool is_nullable(const OptionRow& row) {
  if (row.type == OptionType::percent || row.type == OptionType::nullable_bytes) return true;
  return is_nullable_text(row);
}

bool is_nullable_text(const OptionRow& row) {
  return std::holds_alternative<std::optional<std::string> Options::*>(row.field);
}

std::string nearest_key_in_words(std::string_view key) {
  std::vector<std::string_view> names;
  for (const OptionRow& row : option_rows()) {
    const std::string_view group = group_of(row.key);
    // "filename" at the top is meant for the group that has it, however far the spelling is.
    if (!group.empty() && row.key.substr(group.size() + 1) == key) {
      return "the nearest is " + std::string(row.key);
    }
    names.push_back(row.key);
    if (!group.empty()) names.push_back(group);
  }
  return nearest_in_words(key, names);
}

bool is_unknown_variable(std::string_view name) {
  if (!name.starts_with(variable_prefix) || name.starts_with(internal_prefix)) return false;
  const std::vector<std::string> known = known_variables();
  return std::ranges::find(known, name) == known.end();
}

std::string nearest_variable_in_words(std::string_view name) {
  const std::vector<std::string> known = known_variables();
  // Compared without the beginning they share: it would make every name look near.
  std::vector<std::string_view> ends;
  for (const std::string& candidate : known) {
    ends.push_back(std::string_view(candidate).substr(variable_prefix.size()));
  }
  const std::string_view near = nearest(name.substr(variable_prefix.size()), ends);
  if (near.empty()) return "there is none like it";
  return "the nearest is " + std::string(variable_prefix) + std::string(near);
}

}  // namespace traceagent::config
