#include "config/remote_target.hpp"

#include <algorithm>

#include "config/command_words.hpp"
#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

constexpr std::string_view s3_scheme = "s3://";
constexpr std::string_view file_scheme = "file://";

RemoteTarget command_target(std::string_view command, const NameVariables& variables) {
  CommandWords split = split_command(command);
  RemoteTarget target;
  target.problem = std::move(split.problem);
  for (const std::string& word : split.words) {
    FormattedName formatted = format_name(word, variables);
    if (!formatted.problem.empty()) return {{}, {}, formatted.problem};
    target.words.push_back(std::move(formatted.name));
  }
  return target;
}

// The template says whether it is a whole name: a variable's value may end as one by chance.
std::string with_file_name(std::string place, bool is_whole, const std::string& file_name) {
  if (!is_whole) {
    if (!place.empty() && place.back() != '/') place += '/';
    return place + file_name;
  }
  if (file_name.ends_with(".gz") && !place.ends_with(".gz")) place += ".gz";
  return place;
}

RemoteTarget s3_target(std::string_view place, bool is_whole, const std::string& file_name) {
  const std::size_t slash = std::min(place.find('/'), place.size());
  const std::string bucket(place.substr(0, slash));
  place.remove_prefix(slash);
  place.remove_prefix(std::min(place.find_first_not_of('/'), place.size()));
  if (bucket.empty()) return {{}, {}, "it names no bucket"};
  std::string key = with_file_name(std::string(place), is_whole, file_name);
  key.erase(0, key.find_first_not_of('/'));
  return {std::string(s3_scheme) + bucket + "/" + key, {}, {}};
}

bool has_any(const std::vector<std::string>& names, const std::vector<std::string_view>& wanted) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::find(wanted, name) != wanted.end();
  });
}

}  // namespace

RemoteTarget remote_target(std::string_view remote_template, const NameVariables& variables,
                           const std::string& file_name) {
  if (remote_template.starts_with(command_scheme)) {
    return command_target(remote_template.substr(command_scheme.size()), variables);
  }
  FormattedName formatted = format_name(remote_template, variables);
  if (!formatted.problem.empty()) return {{}, {}, formatted.problem};
  const bool is_whole = is_trace_name(remote_template);
  std::string_view place = formatted.name;
  if (place.starts_with(s3_scheme)) {
    return s3_target(place.substr(s3_scheme.size()), is_whole, file_name);
  }
  if (place.starts_with(file_scheme)) place.remove_prefix(file_scheme.size());
  if (!place.starts_with('/')) {
    return {{}, {}, "it is no s3://bucket/key, no folder from the root and no exec:COMMAND"};
  }
  return {with_file_name(std::string(place), is_whole, file_name), {}, {}};
}

std::string shown_target(std::string_view remote_template) {
  if (!remote_template.starts_with(command_scheme)) return std::string(remote_template);
  const std::string_view command = trimmed(remote_template.substr(command_scheme.size()));
  const std::string_view first = command.substr(0, command.find_first_of(" \t"));
  const bool is_all = first.size() == command.size();
  return std::string(command_scheme) + std::string(first) + (is_all ? "" : " ...");
}

std::string remote_problem(std::string_view remote_template, bool of_rank_files) {
  if (std::string problem = template_problem(remote_template); !problem.empty()) return problem;
  RemoteTarget target = remote_target(remote_template, {}, "file.json");
  const bool is_own_name = target.words.empty() && is_trace_name(remote_template);
  if (!target.problem.empty() || !is_own_name || !of_rank_files) return target.problem;
  const std::vector<std::string> names = variables_in(remote_template);
  if (!has_any(names, {"rank", "local_rank"})) {
    return "all ranks would write the same: end it with / or name {rank}";
  }
  if (!has_any(names, batch_variable_names())) {
    return "all cycles would write the same: end it with / or name {batch}";
  }
  return {};
}

}  // namespace traceagent::config
