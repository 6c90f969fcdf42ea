#include "agent/process/proc_facts.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "agent/process/command_at_load.hpp"
#include "agent/process/placement.hpp"
#include "agent/process/proc_file.hpp"

namespace traceagent::process {
namespace {

// A job's launcher is a few processes away; the bounds keep a strange /proc cheap.
constexpr std::size_t longest_chain = 16;
// As large as an environment can be: launchers put their variables at its end.
constexpr std::size_t largest_file_bytes = 8 << 20;

std::optional<std::string> read_text(const std::string& path) {
  return read_proc_file(path, largest_file_bytes);
}

std::string path_of(int pid, const char* name) {
  return "/proc/" + std::to_string(pid) + '/' + name;
}

std::vector<std::string> split_at_zeros(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\0'), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

template <typename Number>
Number number_at(std::string_view text) {
  Number number{};
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// A field of /proc/<pid>/stat as proc(5) numbers them, from 3. The name in field 2 may hold spaces
// and parentheses: counting begins after its last one.
std::string_view stat_field(std::string_view stat, int number) {
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 > stat.size()) return {};
  std::string_view rest = stat.substr(name_end + 2);
  for (int at = 3; at < number; ++at) {
    const std::size_t space = rest.find(' ');
    if (space == std::string_view::npos) return {};
    rest.remove_prefix(space + 1);
  }
  return rest.substr(0, rest.find(' '));
}

std::optional<std::string> value_in(const std::vector<std::string>& lines,
                                    const std::string& name) {
  const std::string begin = name + "=";
  const auto found =
      std::ranges::find_if(lines, [&](const auto& line) { return line.starts_with(begin); });
  if (found == lines.end()) return std::nullopt;
  return found->substr(begin.size());
}

// A pod's own RANK and WORLD_SIZE, say, are inherited by the launcher of the ranks in it, which is
// no rank of theirs.
bool is_rank_of_ours(const std::vector<std::string>& lines, const std::string& rank_variable) {
  const auto is_other = [&](const std::string& name, bool must_be_there) {
    const auto theirs = value_in(lines, name);
    const char* const ours = std::getenv(name.c_str());
    if (!theirs || ours == nullptr) return must_be_there;
    return *theirs != ours;
  };
  return !is_other(rank_variable, true) &&
         std::ranges::none_of(world_size_variables(rank_variable),
                              [&](const std::string& name) { return is_other(name, false); });
}

// "pid:[4026531836]" is the first one's on every machine (the kernel's PROC_PID_INIT_INO).
std::string read_pid_namespace() {
  char text[64] = {};
  const ssize_t bytes = readlink("/proc/self/ns/pid", text, sizeof text - 1);
  const std::string name = bytes > 0 ? text : "";
  return name == "pid:[4026531836]" ? "" : name;
}

void read_variables(ProcessFacts& facts, const std::vector<std::string>& asked_for) {
  const auto text = read_text(path_of(facts.pid, "environ"));
  // An empty one is what a process without the permission to look may see.
  if (!text || text->empty()) return;
  facts.environment_known = true;
  const std::vector<std::string> lines = split_at_zeros(*text);
  for (const std::string& name : asked_for) {
    if (is_rank_of_ours(lines, name)) facts.rank_variables.push_back(name);
  }
}

void read_own_variables(ProcessFacts& facts, const std::vector<std::string>& asked_for) {
  facts.environment_known = true;
  for (const std::string& name : asked_for) {
    if (std::getenv(name.c_str()) != nullptr) facts.rank_variables.push_back(name);
  }
}

std::int64_t read_boot_time() {
  const std::string stat = read_text("/proc/stat").value_or("");
  const std::size_t line = stat.find("\nbtime ");
  if (line == std::string::npos) return 0;
  return number_at<std::int64_t>(std::string_view(stat).substr(line + 7));
}

}  // namespace

int parent_of(int pid) {
  return number_at<int>(stat_field(read_text(path_of(pid, "stat")).value_or(""), 4));
}

bool is_descendant_of(int pid, int ancestor) {
  constexpr int deepest = 16;
  for (int depth = 0; pid > 0 && depth < deepest; ++depth) {
    pid = parent_of(pid);
    if (pid == ancestor) return true;
  }
  return false;
}

ProcFacts ProcFacts::of_process() {
  const std::vector<std::string> asked_for = process::rank_variables();
  ProcFacts facts;
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) == 0) facts.host = host;
  facts.boot_time_s = read_boot_time();
  facts.pid_namespace = read_pid_namespace();
  facts.ticks_per_second = std::max(1L, sysconf(_SC_CLK_TCK));
  facts.chain.clear();
  for (int pid = getpid(); pid > 0 && facts.chain.size() < longest_chain;) {
    ProcessFacts process;
    process.pid = pid;
    const auto stat = read_text(path_of(pid, "stat"));
    if (!stat && !facts.chain.empty()) break;
    process.start_ticks = number_at<std::uint64_t>(stat_field(stat.value_or(""), 22));
    process.command = split_at_zeros(read_text(path_of(pid, "cmdline")).value_or(""));
    if (facts.chain.empty()) {
      read_own_variables(process, asked_for);
    } else {
      read_variables(process, asked_for);
    }
    facts.chain.push_back(std::move(process));
    pid = number_at<int>(stat_field(stat.value_or(""), 4));
  }
  facts.command_at_load = process::command_at_load();
  // Python's workers are known by their arguments. A title that the parent has too came by fork.
  const bool has_parents =
      facts.chain.size() > 1 && facts.chain[0].command == facts.chain[1].command;
  if (!has_parents && !facts.command_at_load.empty()) {
    facts.chain[0].command = facts.command_at_load;
  }
  return facts;
}

ProcFacts ProcFacts::of_child(ProcFacts now) const {
  const ProcessFacts& parent = chain[0];
  const auto is_parent = [&](const ProcessFacts& process) {
    return process.pid == parent.pid && process.start_ticks == parent.start_ticks;
  };
  const auto found = std::ranges::find_if(now.chain, is_parent);
  // It may have ended: then somebody else has its children.
  const auto end = found != now.chain.end() ? found : now.chain.begin() + 1;
  for (auto process = now.chain.begin(); process != end; ++process) {
    process->command = parent.command;
    process->environment_known = parent.environment_known;
    process->rank_variables = parent.rank_variables;
  }
  now.chain.erase(end, now.chain.end());
  now.chain.insert(now.chain.end(), chain.begin(), chain.end());
  return now;
}

}  // namespace traceagent::process
