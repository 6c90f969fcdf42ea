#pragma once
// Workers that a job forks again and again leave a ring each, of which local rank zero makes files
// when it ends. A job of days must not fill the node's memory until then.

#include <cstdint>
#include <set>
#include <string>

namespace traceagent::process {

struct Agent;
struct Peer;

class DeadWorkers {
 public:
  // Writes what dead second claimants of a rank have recorded and removes their rings, but for a
  // few that may wait for the end. Every few seconds, in local rank zero, and no longer at a time
  // than the drain thread may be away.
  void look(Agent& agent) noexcept;

 private:
  bool look_on(Agent& agent, std::uint64_t until_ns);
  void look_at(Agent& agent, const std::string& ring_path);
  bool may_wait(const Agent& agent, const std::string& ring_path) noexcept;
  void tidy(Agent& agent, const Peer& peer);
  bool write_what_is_left(Agent& agent, const Peer& peer);
  bool is_told_now(const std::string& ring_path);

  std::uint64_t next_look_ns_ = 0;
  // One pass over all rings, by their names' order, which may take several turns.
  std::string last_looked_at_;
  std::size_t waiting_rings_ = 0;
  std::uint64_t waiting_bytes_ = 0;
  bool has_tidied_ = false;
  // Rings that could not be written: tried again now and then, and told of once.
  std::set<std::string> left_, told_;
  std::uint64_t next_retry_ns_ = 0;
};

}  // namespace traceagent::process
