#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::config {

// A YAML document of one or two levels as a flat list: {output: {gzip: true}} is the group "output"
// followed by the value "output.gzip".
struct YamlEntry {
  enum class Kind : std::uint8_t { value, group, list, too_deep };

  std::string key;
  Kind kind = Kind::value;
  std::optional<std::string> text;  // value: nullopt is null; list: its plain values, "a, b"
  bool has_nested = false;          // list: of lists or maps, which no option is
  int line = 0;                     // from 1
};

struct YamlFault {
  int line = 0;  // from 1; 0: of the whole text
  std::string what;
  std::string instead;  // of a fault that is no obstacle: what is done about it
};

struct YamlDocument {
  std::vector<YamlEntry> entries;
  std::vector<YamlFault> faults;    // such as a key given twice; the entries are good all the same
  std::optional<YamlFault> broken;  // not YAML at all: there are no entries
};

// Never recurses deeper and never holds more than the bounds in yaml_entries.cpp, whatever the
// text: aliases are resolved for plain values only, and are never expanded.
YamlDocument parse_yaml(std::string_view text);

struct FileText {
  std::string text;
  std::string problem;  // empty: read
};

// A regular file of at most 1 MiB.
FileText read_options_file(const std::string& path);

}  // namespace traceagent::config
