#include "config/option_keys.hpp"
#include "config/plain_text.hpp"
#include "config/sources.hpp"
#include "config/yaml_entries.hpp"

namespace traceagent::config {
namespace {

std::string at(std::string_view path, int line) {
  std::string where = printable(path);
  if (line > 0) where += ':' + std::to_string(line);
  return where;
}

void unknown_key(OptionSetter& setter, const std::string& where, const std::string& key) {
  setter.problem("unknown option", where, in_quotes(key), nearest_key_in_words(key), "ignored");
}

// False: what stands in the group is to be passed over.
bool begin_group(OptionSetter& setter, const std::string& where, const std::string& key) {
  if (is_group(key)) return true;
  if (const OptionRow* const row = find_option(key)) {
    setter.problem("bad value", where, key, "it needs a value, not a map",
                   setter.using_instead(*row));
  } else {
    unknown_key(setter, where, key);
  }
  return false;
}

void set_option(OptionSetter& setter, const std::string& where, const OptionRow& row,
                const YamlEntry& entry) {
  if (entry.kind == YamlEntry::Kind::value) return setter.set(row, where, true, entry.text);
  const bool is_list = entry.kind == YamlEntry::Kind::list;
  if (is_list && !entry.has_nested && config::is_list(row.type)) {
    return setter.set(row, where, true, entry.text.value_or(std::string()));
  }
  setter.problem("bad value", where, row.key,
                 is_list ? "it needs a value, not a list" : "it needs a value, not a map",
                 setter.using_instead(row));
}

void set_whole_group(OptionSetter& setter, const std::string& where, const YamlEntry& entry) {
  if (entry.kind == YamlEntry::Kind::list) {
    return setter.problem("bad value", where, entry.key, "it needs a map, not a list", "ignored");
  }
  if (!entry.text) return;  // "output:" with nothing under it
  if (entry.key == "schedule") return setter.set_schedule(where, *entry.text);
  setter.problem("bad value", where, entry.key + ": " + in_quotes(*entry.text),
                 "it needs a map, not a value", "ignored");
}

void set_entry(OptionSetter& setter, const std::string& where, const YamlEntry& entry) {
  if (const OptionRow* const row = find_option(entry.key)) {
    set_option(setter, where, *row, entry);
  } else if (is_group(entry.key)) {
    set_whole_group(setter, where, entry);
  } else {
    unknown_key(setter, where, entry.key);
  }
}

}  // namespace

void set_from_yaml(OptionSetter& setter, std::string_view path, std::string_view text) {
  const YamlDocument document = parse_yaml(text);
  if (document.broken) {
    setter.problem("broken YAML", at(path, document.broken->line), {}, document.broken->what,
                   "going on without this file");
  }
  for (const YamlFault& fault : document.faults) {
    setter.problem("doubtful YAML", at(path, fault.line), {}, fault.what, fault.instead);
  }
  std::string passed_over;
  for (const YamlEntry& entry : document.entries) {
    const std::string where = at(path, entry.line);
    if (!passed_over.empty() && group_of(entry.key) == passed_over) continue;
    if (entry.kind == YamlEntry::Kind::group) {
      passed_over = begin_group(setter, where, entry.key) ? std::string() : entry.key;
    } else {
      set_entry(setter, where, entry);
    }
  }
}

void set_from_file(OptionSetter& setter, const std::string& path) {
  const FileText file = read_options_file(path);
  if (file.problem.empty()) return set_from_yaml(setter, path, file.text);
  setter.problem("unreadable options file", printable(path), {}, file.problem,
                 "going on without it");
}

}  // namespace traceagent::config
