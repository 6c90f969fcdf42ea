#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace traceagent::config {

// How the text of an option is read. The names are the `type` column of options.def.
enum class OptionType : std::uint8_t {
  boolean,
  text,
  nullable_text,
  node_name_template,      // variables of the run and the process: see name_template.hpp
  file_name_template,      // also epoch, batch, samples, times
  nullable_name_template,  // as node_name_template, or null
  file_remote,             // variables of file_name_template, or null: see remote_target.hpp
  node_remote,             // variables of node_name_template, or null
  choice,
  integer,
  count,
  bytes,
  duration,
  step_mark,
  signal_list,     // see signal_names.hpp
  pattern_list,    // of file names, with * and ?; separated by commas
  counter_list,    // see counter_names.hpp
  percent,         // in millionths; 0: no limit
  nullable_bytes,  // 0: no limit, in YAML null
};

constexpr bool is_list(OptionType type) {
  return type == OptionType::signal_list || type == OptionType::pattern_list ||
         type == OptionType::counter_list;
}

// The C++ type of an option's field. A duration is in nanoseconds.
template <OptionType type>
auto empty_field() {
  using enum OptionType;
  if constexpr (type == boolean) {
    return bool{};
  } else if constexpr (type == nullable_text || type == nullable_name_template ||
                       type == file_remote || type == node_remote) {
    return std::optional<std::string>();
  } else if constexpr (type == integer) {
    return std::int64_t{};
  } else if constexpr (type == count || type == bytes || type == duration || type == percent ||
                       type == nullable_bytes) {
    return std::uint64_t{};
  } else {
    return std::string();
  }
}
template <OptionType type>
using FieldType = decltype(empty_field<type>());

// What a value must satisfy beyond its type.
struct Rule {
  std::string_view choices;  // names separated by '|'; empty: any
  std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
  bool refuses_empty = false;
};

// The words of the `rule` column of options.def.
namespace rule {
inline constexpr Rule any{};
inline constexpr Rule not_empty{.choices = {}, .refuses_empty = true};
constexpr Rule at_least(std::int64_t lowest) { return {.choices = {}, .lowest = lowest}; }
constexpr Rule one_of(std::string_view choices) { return {.choices = choices}; }
}  // namespace rule

}  // namespace traceagent::config
