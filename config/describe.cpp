#include "config/options.hpp"
#include "config/plain_text.hpp"
#include "config/value.hpp"

namespace traceagent::config {
namespace {

// Numbers and booleans as JSON has them; sizes and durations as text with their unit, so that a
// reader of the trace needs no table of units.
bool is_bare_json(const Options& options, const OptionRow& row) {
  switch (row.type) {
    case OptionType::boolean:
    case OptionType::integer:
    case OptionType::count:
      return true;
    default:
      break;
  }
  if (row.type == OptionType::nullable_bytes) return show(options, row) == "null";
  const auto* const nullable = std::get_if<std::optional<std::string> Options::*>(&row.field);
  return nullable != nullptr && !(options.*(*nullable)).has_value();
}

}  // namespace

std::string describe(const Options& options) {
  std::string out = "{";
  for (const OptionRow& row : option_rows()) {
    if (out.size() > 1) out += ',';
    out += json_string(row.key) + ':';
    const std::string value = show(options, row);
    out += is_bare_json(options, row) ? value : json_string(value);
  }
  return out + '}';
}

}  // namespace traceagent::config
