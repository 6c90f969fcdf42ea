#include "agent/process/included_traces.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/tool_path.hpp"
#include "agent/process/tool_process.hpp"

namespace traceagent::process {
namespace {

std::vector<std::string> patterns_of(std::string_view list) {
  std::vector<std::string> patterns;
  while (!list.empty()) {
    std::string_view pattern = list.substr(0, list.find(','));
    list.remove_prefix(pattern.size() == list.size() ? list.size() : pattern.size() + 1);
    while (pattern.starts_with(' ')) pattern.remove_prefix(1);
    while (pattern.ends_with(' ')) pattern.remove_suffix(1);
    if (!pattern.empty()) patterns.emplace_back(pattern);
  }
  return patterns;
}

// Why it failed, as the tool says it; without its name.
std::string problem_in(const ToolEnd& end) {
  if (!end.problem.empty()) return end.problem;
  if (!end.ended) return "it took longer than merge.timeout";
  constexpr std::string_view name = "traceagent: ";
  const std::size_t at = end.said.find(name);
  if (at == std::string::npos) return "traceagent merge failed";
  const std::size_t begin = at + name.size();
  return end.said.substr(begin, end.said.find('\n', begin) - begin);
}

// The folder's name is no pattern.
std::string pattern_in(const std::string& folder, const std::string& pattern) {
  if (pattern.starts_with('/')) return pattern;
  std::string escaped;
  for (const char c : folder) {
    if (std::string_view("*?[\\").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped + pattern;
}

std::string range(std::int64_t first, std::int64_t last) {
  return std::to_string(first) + "-" + std::to_string(last);
}

// Of the other nodes: "0-7,16-31". Empty where this is the only one, and where its ranks do not
// stand in a row: then nobody knows which are another's.
std::string ranks_of_others(const Identity& identity, const std::vector<std::int64_t>& ranks) {
  const std::int64_t first = identity.rank - identity.local_rank;
  const std::int64_t behind = first + identity.local_world_size;
  const bool is_row = std::all_of(ranks.begin(), ranks.end(), [&](std::int64_t rank) {
    return rank >= first && rank < behind;
  });
  if (!is_row) return {};
  const std::string before = first > 0 ? range(0, first - 1) : "";
  const bool is_last = behind >= identity.world_size;
  const std::string after = is_last ? "" : range(behind, identity.world_size - 1);
  return before + (before.empty() || after.empty() ? "" : ",") + after;
}

}  // namespace

std::vector<std::string> included_patterns(const config::Options& options) {
  return patterns_of(options.merge_include);
}

void include_traces(Agent& agent, const std::string& node_path,
                    const std::vector<std::int64_t>& ranks) {
  const std::vector<std::string> patterns = included_patterns(agent.options);
  if (patterns.empty()) return;
  const ToolPath tool = find_tool("traceagent");
  if (tool.path.empty()) {
    return say_problem("merge.include: " + tool.problem + "; or run it later: traceagent merge " +
                       node_path);
  }
  // All of them have this machine's clock.
  std::vector<std::string> words = {tool.path, "merge",   node_path, "-o",
                                    node_path, "--force", "--align", "none"};
  const std::string folder = node_path.substr(0, node_path.rfind('/') + 1);
  for (const std::string& pattern : patterns) {
    words.emplace_back("--include");
    words.push_back(pattern_in(folder, pattern));
  }
  if (const std::string others = ranks_of_others(agent.identity, ranks); !others.empty()) {
    words.insert(words.end(), {"--include-except", others});
  }
  // Beside what the wait for the ranks and our own merge have taken.
  agent.drain.allow(agent.options.merge_timeout + agent.options.exit_timeout);
  const ToolEnd end = run_tool(std::move(words), agent.options.merge_timeout);
  if (end.exit_code != 0) say_problem("merge.include: " + problem_in(end));
}

}  // namespace traceagent::process
