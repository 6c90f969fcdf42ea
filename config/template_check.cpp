#include "config/template_check.hpp"

#include <algorithm>

#include "config/name_template.hpp"
#include "config/nearest.hpp"

namespace traceagent::config {
namespace {

bool contains(const std::vector<std::string_view>& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::vector<std::string> doubts_about(OptionType type, std::string_view name_template) {
  const bool is_file = type == OptionType::file_name_template || type == OptionType::file_remote;
  const bool is_node = type == OptionType::node_name_template ||
                       type == OptionType::nullable_name_template ||
                       type == OptionType::node_remote;
  std::vector<std::string> doubts;
  if (!is_file && !is_node) return doubts;
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
  std::vector<std::string_view> known = node_variable_names();
  const std::vector<std::string_view>& of_batch = batch_variable_names();
  if (is_file) known.insert(known.end(), of_batch.begin(), of_batch.end());
  for (const std::string& name : variables_in(name_template)) {
    if (contains(known, name)) continue;
    const bool is_remote = type == OptionType::file_remote || type == OptionType::node_remote;
    if (is_remote && name.empty()) continue;  // a command's {}: the file
    if (contains(of_batch, name)) {
      doubts.push_back("{" + name + "} is known in output.filename only");
    } else {
      doubts.push_back("there is no variable {" + name + "}, " + nearest_in_words(name, known));
    }
  }
  return doubts;
}

}  // namespace traceagent::config
