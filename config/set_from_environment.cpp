#include "config/option_keys.hpp"
#include "config/plain_text.hpp"
#include "config/sources.hpp"
#include "config/yaml_entries.hpp"

namespace traceagent::config {
namespace {

// NAME= is how a shell takes a variable back, except where nothing is a text or no name. A limit is
// none but by a word: who leaves a variable empty has not asked for that.
bool means_unset(const OptionRow& row, std::string_view text) {
  if (!text.empty()) return false;
  const bool is_text = row.type == OptionType::text && !row.rule.refuses_empty;
  return !is_text && !is_nullable_text(row);
}

// A list as it stands in an options file: ["*.json", "*.gz"]. What is none stays as it is.
std::string elements_of(std::string_view text) {
  const YamlDocument document = parse_yaml("list: " + std::string(text));
  const bool is_one = document.entries.size() == 1 && !document.entries.front().has_nested &&
                      document.entries.front().kind == YamlEntry::Kind::list;
  return is_one ? document.entries.front().text.value_or("") : std::string(text);
}

void set_from_variable(OptionSetter& setter, const Environment& environment, const OptionRow& row,
                       const std::string& name) {
  const auto text = environment.get(name);
  if (!text || means_unset(row, *text)) return;
  if (is_nullable(row) && *text == "null") return setter.set(row, name, false, std::nullopt);
  if (is_list(row.type) && text->starts_with('[') && text->ends_with(']')) {
    return setter.set(row, name, false, elements_of(*text));
  }
  setter.set(row, name, false, *text);
}

}  // namespace

void set_from_environment(OptionSetter& setter, const Environment& environment) {
  // The whole schedule first: TRACEAGENT_SCHEDULE_ACTIVE says more exactly what is meant.
  if (const auto compact = environment.get(schedule_variable)) {
    setter.set_schedule(std::string(schedule_variable), *compact);
  }
  for (const OptionRow& row : option_rows()) {
    if (!row.alias.empty()) {
      set_from_variable(setter, environment, row, std::string(row.alias));
    }
    set_from_variable(setter, environment, row, environment_name(row.key));
  }
  environment.for_each([&](std::string_view name, std::string_view) {
    if (!is_unknown_variable(name)) return;
    setter.problem("unknown variable", printable(name), {}, nearest_variable_in_words(name),
                   "ignored");
  });
}

}  // namespace traceagent::config
