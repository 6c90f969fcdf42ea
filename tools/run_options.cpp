#include "tools/run_options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "config/environment.hpp"
#include "config/nearest.hpp"
#include "config/options.hpp"
#include "tools/given_path.hpp"

namespace traceagent::tools {

namespace {

std::vector<std::string_view> known_keys() {
  std::vector<std::string_view> keys;
  for (const config::OptionRow& row : config::option_rows()) {
    keys.push_back(row.key);
  }
  return keys;
}

std::string check_key(const std::string& set, const std::string& key) {
  const std::vector<std::string_view> keys = known_keys();
  for (const std::string_view known : keys) {
    if (key == known || key == "schedule") {
      return "";
    }
  }
  return "unknown option: --set " + set + ": " + config::nearest_in_words(key, keys) +
         "; see traceagent options";
}

// A variable, and what the user has typed for it: "--set ring.size".
using TypedOptions = std::map<std::string, std::string>;

// "bad value: TRACEAGENT_RING_SIZE: ..." in the user's own words.
std::string as_typed(const std::string& line, const TypedOptions& typed_options) {
  const std::size_t source = line.find(": ");
  for (const auto& [variable, typed] : typed_options) {
    const std::string named = ": " + variable + ": ";
    if (line.find(named) != source || source == std::string::npos) continue;
    return line.substr(0, source) + ": " + typed + ": " + line.substr(source + named.size());
  }
  return line;
}

// What the agent would say of the values, before anything is started with them. A file is left to
// it: it may be written for another version, and never stops a job. So is a doubt: the value is
// used as it is.
std::string check_values(const Variables& variables, const TypedOptions& typed_options) {
  std::vector<std::string> lines;
  for (const auto& [name, value] : variables) {
    if (name != config::environment_name("config")) lines.push_back(name + "=" + value);
  }
  std::vector<const char*> environment;
  for (const std::string& line : lines) environment.push_back(line.c_str());
  environment.push_back(nullptr);
  const config::Loaded loaded = config::load(config::Environment(environment.data()));
  const auto wrong = std::ranges::find_if(loaded.problems, [](const config::Problem& problem) {
    return !problem.line.starts_with("doubtful ");
  });
  if (wrong == loaded.problems.end()) return "";
  // Nothing is started, so no default is used either.
  std::string line = wrong->line;
  for (const char* what_a_job_gets : {"; using the default", "; ignored"}) {
    line = line.substr(0, line.find(what_a_job_gets));
  }
  return as_typed(line, typed_options) + ": see traceagent options";
}

}  // namespace

RunVariables variables_of(const RunOptions& options) {
  RunVariables result;
  TypedOptions typed_options;
  // The last one of a name wins.
  const auto add = [&](const std::string& key, const std::string& value, const std::string& typed) {
    const std::string name = config::environment_name(key);
    std::erase_if(result.variables, [&](const auto& earlier) { return earlier.first == name; });
    result.variables.emplace_back(name, value);
    typed_options[name] = typed;
  };
  if (!options.config.empty()) {
    // The ranks may be started in another folder than ours.
    std::error_code error;
    add("config", std::filesystem::absolute(options.config, error).string(), "--config");
    if (error) {
      result.problem = "current folder not known: --config " + options.config + ": " +
                       error.message() + ": give the file's whole path";
      return result;
    }
  }
  if (!options.schedule.empty()) {
    add("schedule", options.schedule, "--schedule");
  }
  if (!options.output.empty()) {
    add("output.folder", options.output, "--output");
  }
  for (const std::string& set : options.sets) {
    const std::size_t equals = set.find('=');
    const std::string key = set.substr(0, equals);
    result.problem = equals == std::string::npos
                         ? "no value: --set " + set + ": write --set key=value"
                         : check_key(set, key);
    if (!result.problem.empty()) {
      return result;
    }
    add(key, set.substr(equals + 1), "--set " + key);
  }
  result.problem = check_values(result.variables, typed_options);
  return result;
}

void add_run_options(CLI::App& app, RunOptions& options) {
  app.add_option("--config", options.config, "Options in a YAML file")->check(is_file());
  app.add_option("--schedule", options.schedule,
                 "When to trace: skip_first=N,wait=N,warmup=N,active=N,repeat=N");
  app.add_option("--output", options.output,
                 "Folder of the trace files; one that holds files already is left alone, and "
                 "the run is not traced");
  app.add_option("--set", options.sets, "Any option, as key=value; may be repeated")
      ->allow_extra_args(false);
}

}  // namespace traceagent::tools
