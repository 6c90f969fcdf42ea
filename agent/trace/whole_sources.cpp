#include "agent/trace/whole_sources.hpp"

#include <optional>
#include <vector>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

// The agent writes the path that it has written to; who merged knows the file's name alone.
std::string plain_name(const std::string& path) {
  return without_gz(path.substr(path.rfind('/') + 1));
}

}  // namespace

WholeSources whole_sources_of(const MergeInput& merged) {
  WholeSources sources;
  const std::optional<std::vector<std::string>> cut = cut_files_of(merged.report.path);
  if (!cut) return sources;
  std::map<std::string, std::set<std::string>> by_name;
  for (const std::string& source : merged.header.sources) {
    const std::string name = unescaped(string_member(source, "name").value_or(""));
    by_name[plain_name(name)].insert(identity_of(source));
    sources.whole.insert(identity_of(source));
  }
  for (const std::string& file : *cut) {
    const auto found = by_name.find(plain_name(file));
    if (found == by_name.end()) {
      sources.whole.clear();
      continue;
    }
    for (const std::string& identity : found->second) sources.whole.erase(identity);
    sources.cut[file] = found->second;
  }
  return sources;
}

}  // namespace traceagent::trace
