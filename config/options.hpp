#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "config/environment.hpp"
#include "config/option_types.hpp"
#include "config/schedule.hpp"
#include "config/units.hpp"

namespace traceagent::config {

// All options, resolved. One field per row of options.def: `output.folder` is output_folder.
// Sizes are in bytes, durations in nanoseconds.
struct Options {
#define OPTION(key, field, type, initial, rule, alias, help) \
  FieldType<OptionType::type> field{initial};
#include "config/options.def"
#undef OPTION
};

Schedule schedule_of(const Options& options);

// One complete line for the user, without the leading "traceagent: ":
//   <what>: <file:line or variable>: <option>: <value>: <what is wrong>; <what is used instead>
struct Problem {
  std::string line;
};

struct Loaded {
  Options options;
  std::vector<Problem> problems;
  std::string config_path;  // the value of TRACEAGENT_CONFIG; empty: no file was asked for
};

// Reads the file that TRACEAGENT_CONFIG names, then the environment, which wins. Whatever is wrong
// becomes a problem and leaves the option as it was. Never prints. Throws std::bad_alloc alone: the
// defaults are not what was asked for.
Loaded load(const Environment& environment);

// The same from a file's text, for tools and fuzzing. `path` is used in problems only.
Loaded load_text(std::string_view path, std::string_view text, const Environment& environment);

// One line: a JSON object from key to value, {"enabled":true,...,"ring.size":"64MiB",...}.
// Valid UTF-8 whatever the options hold.
std::string describe(const Options& options);

// A row of options.def.
struct OptionRow {
  using Field =
      std::variant<bool Options::*, std::string Options::*, std::optional<std::string> Options::*,
                   std::int64_t Options::*, std::uint64_t Options::*>;

  std::string_view key;
  Field field;
  OptionType type;
  Rule rule;
  std::string_view alias;  // a second environment name, or empty
  std::string_view help;
};

std::span<const OptionRow> option_rows() noexcept;

// TRACEAGENT_ + the key in capitals with '.' turned into '_'.
std::string environment_name(std::string_view key);

}  // namespace traceagent::config
