#include "config/template_check.hpp"

#include <algorithm>
#include <iterator>

#include "config/name_template.hpp"
#include "config/nearest.hpp"
#include "config/remote_target.hpp"

namespace traceagent::config {
namespace {

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool is_remote(OptionType type) {
  return type == OptionType::file_remote || type == OptionType::node_remote;
}

// Of an epoch nobody would expect anything else: without step.per_epoch a run is in its first.
std::string_view option_that_counts(std::string_view name, const Options& options) {
  if (name.starts_with("sample") && options.step_samples == 0) return "step.samples";
  if (name.starts_with("token") && options.step_tokens == 0) return "step.tokens";
  return {};
}

// What is wrong with a variable; empty: nothing.
std::string doubt_about_variable(const std::string& name, bool is_file, const Options& options) {
  std::vector<std::string_view> known = node_variable_names();
  const std::vector<std::string_view>& of_batch = batch_variable_names();
  if (contains(known, name)) return {};
  const std::string variable = "{" + name + "}";
  if (!contains(of_batch, name)) {
    if (is_file) known.insert(known.end(), of_batch.begin(), of_batch.end());
    return "there is no variable " + variable + ", " + nearest_in_words(name, known);
  }
  if (!is_file) return variable + " is known in output.filename only";
  const std::string_view option = option_that_counts(name, options);
  return option.empty() ? "" : variable + " is 0 without " + std::string(option);
}

// Nothing in the target, nor in the file's name that is put to it, is another in another run. A
// command may see to that by itself.
bool is_same_for_all_runs(std::string_view remote, const std::string& file_name) {
  if (remote.starts_with(command_scheme)) return false;
  const auto names_run = [](std::string_view name_template) {
    const std::vector<std::string> names = variables_in(name_template);
    return std::ranges::find(names, "run_name") != names.end();
  };
  return !names_run(remote) && (is_trace_name(remote) || !names_run(file_name));
}

// Who unpacks what has that name is told that it is damaged.
bool promises_gzip(std::string_view remote, const std::string& file_name, const Options& options) {
  return !remote.starts_with(command_scheme) && remote.ends_with(".gz") && !options.output_gzip &&
         !file_name.ends_with(".gz");
}

// "$HOME" or "${HOME}", the first that there is; empty: none.
std::string shell_variable_in(std::string_view text) {
  const auto begins_name = [](char c) {
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  };
  const auto is_of_name = [&](char c) { return begins_name(c) || (c >= '0' && c <= '9'); };
  for (std::size_t at = text.find('$'); at < text.size(); at = text.find('$', at + 1)) {
    const bool has_brace = text.substr(at + 1).starts_with('{');
    const std::size_t begin = at + 1 + (has_brace ? 1 : 0);
    std::size_t end = begin;
    while (end < text.size() && is_of_name(text[end])) ++end;
    const bool is_closed = !has_brace || text.substr(end).starts_with('}');
    if (end == begin || !begins_name(text[begin]) || !is_closed) continue;
    return std::string(text.substr(at, end - at + (has_brace ? 1 : 0)));
  }
  return {};
}

// Of a path or a name as a whole, which a job script's shell would have changed.
std::vector<std::string> doubts_about_shell(std::string_view text) {
  std::vector<std::string> doubts;
  if (text == "~" || text.starts_with("~/")) {
    doubts.emplace_back("only a shell makes a home folder of ~: give the whole path");
  }
  const std::string variable = shell_variable_in(text);
  if (!variable.empty()) {
    doubts.push_back("only a shell puts in what " + variable +
                     " is: write it out, or set the option by its TRACEAGENT_ variable where a "
                     "shell starts the job");
  }
  return doubts;
}

}  // namespace

std::vector<std::string> doubts_about(OptionType type, std::string_view name_template,
                                      const Options& options) {
  const bool is_file = type == OptionType::file_name_template || type == OptionType::file_remote;
  const bool is_node = type == OptionType::node_name_template ||
                       type == OptionType::nullable_name_template ||
                       type == OptionType::node_remote;
  if (type == OptionType::text) return doubts_about_shell(name_template);
  if (!is_file && !is_node) return {};
  std::vector<std::string> doubts;
  const bool is_within_folder =
      type == OptionType::file_name_template || type == OptionType::nullable_name_template;
  if (is_within_folder && name_template.starts_with('/')) {
    doubts.emplace_back("it lies below output.folder: name the folder there");
  }
  if (is_within_folder && !is_trace_name(name_template)) {
    doubts.emplace_back(
        "it does not end in .json or .json.gz, and traceagent merge takes no other files of a "
        "folder");
  }
  // A command may have a shell of its own.
  const bool is_command = is_remote(type) && name_template.starts_with(command_scheme);
  const std::string shells = is_command ? "" : shell_variable_in(name_template);
  if (!is_command) std::ranges::move(doubts_about_shell(name_template), std::back_inserter(doubts));
  for (const std::string& name : variables_in(name_template)) {
    if (is_remote(type) && name.empty()) continue;  // a command's {}: the file
    if (shells == "${" + name + "}") continue;      // which was doubted
    std::string doubt = doubt_about_variable(name, is_file, options);
    if (!doubt.empty()) doubts.push_back(std::move(doubt));
  }
  const std::string file_name =
      is_file ? options.output_filename : options.output_merged.value_or("");
  if (is_remote(type) && is_same_for_all_runs(name_template, file_name)) {
    doubts.emplace_back(
        "another run's files of the same names would be replaced there: name {run_name}, "
        "unless this text is another in each run");
  }
  if (is_remote(type) && promises_gzip(name_template, file_name, options)) {
    doubts.emplace_back(
        "it ends in .gz and the files are not compressed: set output.gzip, or let it end in .json");
  }
  return doubts;
}

}  // namespace traceagent::config
