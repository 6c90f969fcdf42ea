#include "agent/process/keeper.hpp"

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

}  // namespace

void start_keeper(const Agent& agent) {
  if (!agent.options.keeper || agent.run_folder.path.empty() || agent.ring.path.empty()) return;
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
