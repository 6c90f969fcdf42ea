#include "agent/process/keeper.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/ring_identity.hpp"
#include "agent/process/tool_path.hpp"
#include "agent/process/tool_process.hpp"
#include "agent/ring/owner.hpp"
#include "config/name_template.hpp"

namespace traceagent::process {
namespace {

constexpr const char* keeper_topic = "keeper";
constexpr std::string_view log_begin = "keeper-node", log_end = ".log";

std::string log_path(const Agent& agent) {
  const auto folder =
      config::format_name(agent.options.output_folder, name_variables(agent.identity));
  if (!folder.problem.empty()) return {};
  return folder.name + "/" + std::string(log_begin) + std::to_string(agent.identity.node_rank) +
         std::string(log_end);
}

// The keeper would become a child of this process, which may wait for all its children, as the
// keeper waits for it. The end of a container's first process is the keeper's, too.
bool takes_orphans() noexcept {
  int is_subreaper = 0;
  return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

// Containers that share the folder have the same pids.
std::string taker_topic(int pid) {
  return "takes-orphans-" + std::to_string(pid) + "-" + std::to_string(ring::pid_namespace());
}

// Of another process that cannot be asked: a rank that takes orphans notes it, for its workers. A
// keeper of theirs would be its child too.
bool is_below_taker(const Agent& agent) {
  return std::any_of(
      agent.identity.family.begin(), agent.identity.family.end(), [&](const Forebear& forebear) {
        return forebear.pid != agent.pid && has_been(agent.run_folder, taker_topic(forebear.pid));
      });
}

}  // namespace

bool is_keeper_log(std::string_view name) noexcept {
  if (!name.starts_with(log_begin) || !name.ends_with(log_end)) return false;
  name.remove_prefix(log_begin.size());
  const std::size_t digits = name.find_first_not_of("0123456789");
  return digits > 0 && name.substr(digits) == log_end;
}

void start_keeper(const Agent& agent) {
  if (!agent.options.keeper || agent.run_folder.path.empty()) return;
  const bool is_taker = takes_orphans();
  if (is_taker) static_cast<void>(be_first(agent.run_folder, taker_topic(agent.pid)));
  if (agent.ring.path.empty()) return;
  if (is_taker) {
    return say_problem(
        "keeper: this process starts none, since it would be its own child (it is the first of its "
        "container, or PR_SET_CHILD_SUBREAPER is set): set `signals`, or let a small init start "
        "the job, as docker run --init does");
  }
  if (is_below_taker(agent)) return;
  if (!be_first(agent.run_folder, keeper_topic)) return;
  const ToolPath tool = find_tool("traceagent");
  if (tool.path.empty()) return say_problem("keeper: none runs on this node: " + tool.problem);
  std::vector<std::string> words{tool.path, "recover", "--wait"};
  if (const std::string log = log_path(agent); !log.empty()) {
    words.insert(words.end(), {"--log", log});
  }
  words.push_back(agent.run_folder.path);
  const std::string problem = start_tool(words);
  if (!problem.empty())
    say_problem("keeper: " + tool.path + ": " + problem + ": none runs on this node");
}

}  // namespace traceagent::process
