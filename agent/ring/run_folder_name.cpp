#include "agent/ring/run_folder_name.hpp"

#include <algorithm>

namespace traceagent::ring {
namespace {

// '@' is in no key: no other run's name can be taken for that of a node.
constexpr std::string_view node_mark = "@node";

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// A run key may hold anything a scheduler puts into its variables.
std::string as_file_name(const std::string& key) {
  std::string name = key.substr(0, 120);
  for (char& c : name) {
    const bool plain = is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '-' || c == '_' || c == '.';
    if (!plain) c = '_';
  }
  if (name.empty() || name.front() == '.') name.insert(0, "run-");
  return name;
}

}  // namespace

std::string run_folder_name(const std::string& run_key, std::int64_t node_rank) {
  std::string name = as_file_name(run_key);
  if (node_rank > 0) name.append(node_mark).append(std::to_string(node_rank));
  return name;
}

bool is_run_folder_name(std::string_view name, const std::string& run_key) {
  const std::string of_first = as_file_name(run_key);
  if (!name.starts_with(of_first)) return false;
  name.remove_prefix(of_first.size());
  if (name.empty()) return true;
  if (!name.starts_with(node_mark)) return false;
  name.remove_prefix(node_mark.size());
  return !name.empty() && std::all_of(name.begin(), name.end(), is_digit);
}

}  // namespace traceagent::ring
