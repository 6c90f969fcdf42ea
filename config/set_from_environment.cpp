#include "config/option_keys.hpp"
#include "config/plain_text.hpp"
#include "config/sources.hpp"

namespace traceagent::config {
namespace {

// NAME= is how a shell takes a variable back, except where nothing is a text or no name. A limit is
// none but by a word: who leaves a variable empty has not asked for that.
bool means_unset(const OptionRow& row, std::string_view text) {
  if (!text.empty()) return false;
  const bool is_text = row.type == OptionType::text && !row.rule.refuses_empty;
  return !is_text && !is_nullable_text(row);
}

void set_from_variable(OptionSetter& setter, const Environment& environment, const OptionRow& row,
                       const std::string& name) {
  const auto text = environment.get(name);
  if (!text || means_unset(row, *text)) return;
  if (is_nullable(row) && *text == "null") return setter.set(row, name, false, std::nullopt);
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
