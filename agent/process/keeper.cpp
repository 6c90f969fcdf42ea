#include "agent/process/keeper.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/ring_identity.hpp"
#include "agent/process/tool_path.hpp"
#include "agent/process/tool_process.hpp"
#include "config/name_template.hpp"

namespace traceagent::process {
namespace {

constexpr const char* keeper_topic = "keeper";

std::string log_path(const Agent& agent) {
  const auto folder =
      config::format_name(agent.options.output_folder, name_variables(agent.identity));
  if (!folder.problem.empty()) return {};
  return folder.name + "/keeper-node" + std::to_string(agent.identity.node_rank) + ".log";
}

// The keeper would become a child of this process, which may wait for all its children, as the
// keeper waits for it. The end of a container's first process is the keeper's, too.
bool takes_orphans() noexcept {
  int is_subreaper = 0;
  return getpid() == 1 || (prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0 && is_subreaper != 0);
}

}  // namespace

void start_keeper(const Agent& agent) {
  if (!agent.options.keeper || agent.run_folder.path.empty() || agent.ring.path.empty()) return;
  if (takes_orphans()) {
    return say_problem(
        "keeper: this process starts none, since it would be its own child (it is the first of its "
        "container, or PR_SET_CHILD_SUBREAPER is set): set `signals`, or let a small init start "
        "the "
        "job, as docker run --init does");
  }
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
