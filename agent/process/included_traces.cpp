#include "agent/process/included_traces.hpp"

#include <algorithm>
#include <charconv>

#include "agent/process/agent.hpp"
#include "agent/process/include_claims.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/tool_path.hpp"
#include "agent/process/tool_process.hpp"
#include "config/command_words.hpp"
#include "config/pattern_list.hpp"

namespace traceagent::process {
namespace {

std::string in_words(const std::vector<std::string>& words) {
  std::string text = "traceagent";
  for (const std::string& word : words) text += " " + config::shell_word(word);
  return text;
}

bool says_problem(std::string_view said) {
  return ("\n" + std::string(said)).find("\ntraceagent: ") != std::string::npos;
}

std::string problem_in(const ToolEnd& end, const std::string& command) {
  if (!end.problem.empty()) return end.problem;
  if (!end.ended) {
    return "it took longer than merge.timeout: raise it, or run it later: " + command;
  }
  return problem_said(end.said);
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

std::vector<std::string> merge_words(const Agent& agent, const std::string& node_path,
                                     const std::vector<std::string>& patterns,
                                     const std::vector<std::int64_t>& ranks) {
  // All of them have this machine's clock.
  std::vector<std::string> words = {"merge",   node_path, "-o",  node_path,
                                    "--force", "--align", "none"};
  const std::string folder = node_path.substr(0, node_path.rfind('/') + 1);
  for (const std::string& pattern : patterns) {
    words.emplace_back("--include");
    words.push_back(pattern_in(folder, pattern));
  }
  if (const std::string others = ranks_of_others(agent.identity, ranks); !others.empty()) {
    words.insert(words.end(), {"--include-except", others});
  }
  if (agent.identity.world_size > agent.identity.local_world_size) {
    words.insert(words.end(), {"--include-once", include_claims_folder(agent)});
  }
  return words;
}

bool take_number(std::string_view& text, std::uint64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// "2 ranks", "1 rank".
bool take_count(std::string_view& text, std::string_view noun, std::uint64_t& count) {
  std::string_view rest = text;
  if (!take_number(rest, count) || !rest.starts_with(noun)) return false;
  rest.remove_prefix(noun.size());
  if (rest.starts_with('s')) rest.remove_prefix(1);
  text = rest;
  return true;
}

bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

}  // namespace

std::string problem_said(std::string_view said) {
  constexpr std::string_view name = "traceagent: ";
  std::string first;
  std::size_t others = 0;
  while (!said.empty()) {
    const std::string_view line = said.substr(0, said.find('\n'));
    said.remove_prefix(std::min(line.size() + 1, said.size()));
    if (!line.starts_with(name)) continue;
    others += first.empty() ? 0 : 1;
    if (first.empty()) first = line.substr(name.size());
  }
  if (others > 0) first += "; also " + std::to_string(others) + " more";
  return first.empty() ? "traceagent merge failed" : first;
}

// "<path>: 2 ranks, 40 events, 3 events lost (no_ts 3), names_full 4, 5120 bytes"; what is lost,
// and what else, stands there if any is.
std::optional<NodeTotals> totals_said(std::string_view said, const std::string& node_path) {
  const std::string begin = "\n" + node_path + ": ";
  const std::string from_first_line = "\n" + std::string(said);
  const std::size_t at = from_first_line.rfind(begin);
  if (at == std::string::npos) return std::nullopt;
  std::string_view line = std::string_view(from_first_line).substr(at + begin.size());
  line = line.substr(0, line.find('\n'));
  NodeTotals totals;
  if (!take_count(line, " rank", totals.ranks) || !take(line, ", ") ||
      !take_count(line, " event", totals.events)) {
    return std::nullopt;
  }
  line = line.substr(0, line.rfind(", "));  // without its size
  std::string_view lost = line;
  if (take(lost, ", ") && take_count(lost, " event", totals.lost) && take(lost, " lost (")) {
    totals.causes = lost.substr(0, lost.find(')'));
    line = lost.substr(std::min(totals.causes.size() + 1, lost.size()));
  } else {
    totals.lost = 0;
  }
  totals.others = take(line, ", ") ? line : std::string_view();
  return totals;
}

std::vector<std::string> included_patterns(const config::Options& options) {
  return config::patterns_of(options.merge_include);
}

Included include_traces(Agent& agent, const std::string& node_path,
                        const std::vector<std::int64_t>& ranks) {
  const std::vector<std::string> patterns = included_patterns(agent.options);
  if (patterns.empty()) return {};
  std::vector<std::string> words = merge_words(agent, node_path, patterns, ranks);
  const ToolPath tool = find_tool("traceagent");
  if (tool.path.empty()) {
    Included none;
    none.problem = tool.problem + "; or run it later: " + in_words(words);
    say_problem("merge.include: " + none.problem);
    return none;
  }
  const std::string said_words = in_words(words);
  const IncludeClaims claims(agent, node_path);
  words.insert(words.begin(), tool.path);
  words.insert(words.end(), {"--claimant", claims.claimant()});
  // Beside what the wait for the ranks and our own merge have taken.
  agent.drain.allow(agent.options.merge_timeout + agent.options.exit_timeout);
  const ToolEnd end = run_tool(std::move(words), agent.options.merge_timeout);
  if (end.exit_code < 0) claims.undo();
  Included included;
  included.totals = totals_said(end.said, node_path);
  const bool is_written = included.totals.has_value();
  // It was ended, but had just done it.
  const bool is_done = !end.ended && is_written && !says_problem(end.said);
  if (end.exit_code == 0 || is_done) return included;
  const std::string problem = is_written ? problem_said(end.said) : problem_in(end, said_words);
  say_problem("merge.include: " + problem);
  if (!is_written) included.problem = problem;
  return included;
}

}  // namespace traceagent::process
