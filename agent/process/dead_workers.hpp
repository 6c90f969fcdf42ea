#pragma once
// Workers that a job forks again and again leave a ring each, of which local rank zero makes files
// when it ends. A job of days must not fill the node's memory until then.

#include <cstdint>
#include <set>
#include <string>

namespace traceagent::process {

struct Agent;

class DeadWorkers {
 public:
  // Writes what dead second claimants of a rank have recorded and removes their rings, once there
  // are more than a few of them. At most every few seconds, in local rank zero.
  void look(Agent& agent) noexcept;

 private:
  bool tidy(Agent& agent, std::uint64_t until_ns);

  std::uint64_t next_look_ns_ = 0;
  std::set<std::string> left_;  // rings that have to stay: `traceagent recover` says why
};

}  // namespace traceagent::process
