#include <algorithm>
#include <exception>
#include <vector>

#include "config/nearest.hpp"
#include "config/options.hpp"
#include "config/plain_text.hpp"
#include "config/template_check.hpp"
#include "config/value.hpp"
#include "config/yaml_entries.hpp"

namespace traceagent::config {
namespace {

constexpr std::size_t most_problems = 20;
constexpr std::string_view variable_prefix = "TRACEAGENT_";
constexpr std::string_view internal_prefix = "TRACEAGENT_INTERNAL_";
constexpr std::string_view config_variable = "TRACEAGENT_CONFIG";
constexpr std::string_view schedule_variable = "TRACEAGENT_SCHEDULE";
constexpr std::string_view schedule_prefix = "schedule.";

const OptionRow* find_row(std::string_view key) {
  for (const OptionRow& row : option_rows()) {
    if (row.key == key) return &row;
  }
  return nullptr;
}

std::string_view group_of(std::string_view key) {
  const std::size_t dot = key.find('.');
  return dot == std::string_view::npos ? std::string_view() : key.substr(0, dot);
}

bool is_group(std::string_view name) {
  return std::ranges::any_of(option_rows(),
                             [&](const OptionRow& row) { return group_of(row.key) == name; });
}

// Candidates for a misspelt key: all keys, the groups, and the key whose last part it is
// ("filename" means "output.filename").
std::string nearest_key(std::string_view key) {
  std::vector<std::string_view> names;
  for (const OptionRow& row : option_rows()) {
    const std::string_view group = group_of(row.key);
    if (!group.empty() && row.key.substr(group.size() + 1) == key) {
      return "the nearest is " + std::string(row.key);
    }
    names.push_back(row.key);
    if (!group.empty()) names.push_back(group);
  }
  return nearest_in_words(key, names);
}

class Loader {
 public:
  Loader(Loaded& loaded, const Environment& environment)
      : loaded_(loaded), environment_(environment) {}

  void read_file(const std::string& path) {
    const FileText file = read_options_file(path);
    if (file.problem.empty()) return read_text(path, file.text);
    problem("unreadable options file", path, {}, file.problem, "going on without it");
  }

  void read_text(std::string_view path, std::string_view text) {
    const YamlDocument document = parse_yaml(text);
    if (document.broken) {
      problem("broken YAML", at(path, document.broken->line), {}, document.broken->what,
              "going on without this file");
    }
    for (const YamlFault& fault : document.faults) {
      problem("doubtful YAML", at(path, fault.line), {}, fault.what, "the first one is used");
    }
    std::string unknown_group;
    for (const YamlEntry& entry : document.entries) {
      const std::string_view group = group_of(entry.key);
      if (!unknown_group.empty() && group == unknown_group) continue;
      if (entry.kind == YamlEntry::Kind::group) {
        unknown_group = begin_group(path, entry) ? std::string() : entry.key;
      } else {
        read_entry(path, entry);
      }
    }
  }

  void read_environment() {
    // The whole schedule first: TRACEAGENT_SCHEDULE_ACTIVE says more exactly what is meant.
    if (const auto compact = environment_.get(schedule_variable)) {
      read_schedule(std::string(schedule_variable), *compact);
    }
    for (const OptionRow& row : option_rows()) read_variables_of(row);
    environment_.for_each([&](std::string_view name, std::string_view) { check_variable(name); });
  }

  void check_whole() {
    check_schedule();
    for (const OptionRow& row : option_rows()) check_template(row);
    if (left_out_ > 0) {
      loaded_.problems.push_back(
          {"and " + std::to_string(left_out_) + " more problems with options, not shown"});
    }
  }

 private:
  static std::string at(std::string_view path, int line) {
    std::string where(path);
    if (line > 0) where += ':' + std::to_string(line);
    return where;
  }

  void problem(std::string_view what, const std::string& where, const std::string& value,
               const std::string& why, const std::string& instead) {
    if (loaded_.problems.size() >= most_problems) {
      ++left_out_;
      return;
    }
    std::string line = std::string(what) + ": " + where + ": ";
    if (!value.empty()) line += value + ": ";
    loaded_.problems.push_back({line + why + "; " + instead});
  }

  // What stays in force when a value is refused.
  std::string using_instead(const OptionRow& row) const {
    const std::string value = show(loaded_.options, row);
    const bool is_default = value == show(Options{}, row);
    return (is_default ? "using the default " : "using ") + (value.empty() ? "\"\"" : value);
  }

  void set(const OptionRow& row, const std::string& where, bool names_key,
           std::optional<std::string_view> text) {
    const std::string why = assign(loaded_.options, row, text);
    if (why.empty()) {
      origin_[static_cast<std::size_t>(&row - option_rows().data())] = where;
      return;
    }
    std::string value = text ? quoted(*text) : "null";
    if (names_key) value = std::string(row.key) + ": " + value;
    problem("bad value", where, value, why, using_instead(row));
  }

  bool begin_group(std::string_view path, const YamlEntry& entry) {
    if (is_group(entry.key)) return true;
    const bool is_option = find_row(entry.key) != nullptr;
    if (is_option) {
      problem("bad value", at(path, entry.line), entry.key, "it needs a value, not a map",
              using_instead(*find_row(entry.key)));
    } else {
      unknown_key(path, entry);
    }
    return false;
  }

  void unknown_key(std::string_view path, const YamlEntry& entry) {
    problem("unknown option", at(path, entry.line), quoted(entry.key), nearest_key(entry.key),
            "ignored");
  }

  void read_entry(std::string_view path, const YamlEntry& entry) {
    const std::string where = at(path, entry.line);
    const OptionRow* const row = find_row(entry.key);
    if (row != nullptr) {
      if (entry.kind == YamlEntry::Kind::value) return set(*row, where, true, entry.text);
      const bool is_list = entry.kind == YamlEntry::Kind::list;
      return problem("bad value", where, entry.key,
                     is_list ? "it needs a value, not a list" : "it needs a value, not a map",
                     using_instead(*row));
    }
    if (!is_group(entry.key)) return unknown_key(path, entry);
    if (entry.kind == YamlEntry::Kind::list) {
      return problem("bad value", where, entry.key, "it needs a map, not a list", "ignored");
    }
    if (!entry.text) return;  // "output:" with nothing under it
    if (entry.key == "schedule") return read_schedule(where, *entry.text);
    problem("bad value", where, entry.key + ": " + quoted(*entry.text),
            "it needs a map, not a value", "ignored");
  }

  // skip_first=10,wait=5,warmup=1,active=3,repeat=2; what is not named stays as it is.
  void read_schedule(const std::string& where, std::string_view compact) {
    while (!compact.empty()) {
      const std::size_t comma = compact.find(',');
      const std::string_view part = trimmed(compact.substr(0, comma));
      compact.remove_prefix(comma == std::string_view::npos ? compact.size() : comma + 1);
      if (!part.empty()) read_schedule_part(where, part);
    }
  }

  void read_schedule_part(const std::string& where, std::string_view part) {
    const std::size_t equals = part.find('=');
    const std::string_view name = trimmed(part.substr(0, equals));
    const OptionRow* const row = find_row(std::string(schedule_prefix) + std::string(name));
    if (row == nullptr) {
      problem("unknown option", where, quoted(name),
              nearest_in_words(name, {"skip_first", "wait", "warmup", "active", "repeat"}),
              "ignored");
    } else if (equals == std::string_view::npos) {
      problem("bad value", where, quoted(part),
              "it has no number, such as in " + std::string(name) + "=1", using_instead(*row));
    } else {
      set(*row, where, true, trimmed(part.substr(equals + 1)));
    }
  }

  void read_variables_of(const OptionRow& row) {
    if (!row.alias.empty()) read_variable(row, std::string(row.alias));
    read_variable(row, environment_name(row.key));
  }

  void read_variable(const OptionRow& row, const std::string& name) {
    const auto text = environment_.get(name);
    if (!text) return;
    const bool is_nullable =
        std::holds_alternative<std::optional<std::string> Options::*>(row.field);
    if (is_nullable && *text == "null") return set(row, name, false, std::nullopt);
    // NAME= is how a shell takes a variable back. For text it is a value like any other.
    const bool is_text = std::holds_alternative<std::string Options::*>(row.field);
    if (text->empty() && !is_nullable && (!is_text || row.rule.refuses_empty)) return;
    set(row, name, false, *text);
  }

  void check_variable(std::string_view name) {
    if (!name.starts_with(variable_prefix) || name.starts_with(internal_prefix)) return;
    if (name == config_variable || name == schedule_variable) return;
    std::vector<std::string> known;
    for (const OptionRow& row : option_rows()) {
      known.push_back(environment_name(row.key));
      if (!row.alias.empty()) known.emplace_back(row.alias);
    }
    if (std::ranges::find(known, name) != known.end()) return;
    // The common beginning would make every name look near.
    std::vector<std::string_view> ends = {"CONFIG", "SCHEDULE"};
    for (const std::string& candidate : known) {
      ends.push_back(std::string_view(candidate).substr(variable_prefix.size()));
    }
    const std::string_view near = nearest(name.substr(variable_prefix.size()), ends);
    problem(
        "unknown variable", std::string(name), {},
        near.empty() ? "there is none like it" : "the nearest is TRACEAGENT_" + std::string(near),
        "ignored");
  }

  void check_schedule() {
    const Schedule schedule = schedule_of(loaded_.options);
    const std::string why = refusal(schedule);
    if (why.empty()) return;
    const Options defaults;
    std::string where;
    for (std::size_t i = 0; i < option_rows().size(); ++i) {
      const OptionRow& row = option_rows()[i];
      if (!row.key.starts_with(schedule_prefix)) continue;
      if (!origin_[i].empty() && where.find(origin_[i]) == std::string::npos) {
        where += (where.empty() ? "" : ", ") + origin_[i];
      }
      const auto field = std::get<std::uint64_t Options::*>(row.field);
      loaded_.options.*field = defaults.*field;
    }
    problem("impossible schedule", where, show(schedule), why,
            "using the default " + show(schedule_of(defaults)));
  }

  void check_template(const OptionRow& row) {
    const std::size_t i = static_cast<std::size_t>(&row - option_rows().data());
    if (origin_[i].empty()) return;
    const std::string text = show(loaded_.options, row);
    for (const std::string& doubt : doubtful_variables(row.type, text)) {
      problem("doubtful name", origin_[i], quoted(text), doubt, "it stays as it is");
    }
  }

  Loaded& loaded_;
  const Environment& environment_;
  std::vector<std::string> origin_ = std::vector<std::string>(option_rows().size());
  std::size_t left_out_ = 0;
};

}  // namespace

Loaded load_text(std::string_view path, std::string_view text, const Environment& environment) {
  Loaded loaded;
  loaded.config_path = path;
  Loader loader(loaded, environment);
  loader.read_text(path, text);
  loader.read_environment();
  loader.check_whole();
  return loaded;
}

Loaded load(const Environment& environment) noexcept try {
  Loaded loaded;
  loaded.config_path = environment.get(config_variable).value_or("");
  Loader loader(loaded, environment);
  if (!loaded.config_path.empty()) loader.read_file(loaded.config_path);
  loader.read_environment();
  loader.check_whole();
  return loaded;
} catch (...) {
  return Loaded{};
}

}  // namespace traceagent::config
