#include "agent/process/include_claims.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include "agent/drain/file_names.hpp"
#include "agent/drain/node_claim.hpp"
#include "agent/process/agent.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::process {
namespace {

// 0: there is none.
ino_t number_of(const std::string& path) noexcept {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 ? facts.st_ino : 0;
}

}  // namespace

std::string include_claims_folder(const Agent& agent) {
  return drain::output_folder(agent.ring.ring) + "/index";
}

IncludeClaims::IncludeClaims(const Agent& agent, const std::string& node_path)
    : agent_(agent),
      node_path_(node_path),
      claimant_(std::to_string(agent.pid) + "-" + std::to_string(ring::pid_namespace())),
      node_file_(number_of(node_path)),
      before_(links()) {}

std::set<std::string> IncludeClaims::links() const {
  return drain::links_of_node(include_claims_folder(agent_), drain::included_name,
                              agent_.identity.run_key, agent_.identity.node_rank, claimant_);
}

void IncludeClaims::undo() const {
  if (number_of(node_path_) != node_file_) return;
  for (const std::string& link : links()) {
    if (!before_.contains(link)) unlink(link.c_str());
  }
}

}  // namespace traceagent::process
