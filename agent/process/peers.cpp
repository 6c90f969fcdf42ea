#include "agent/process/peers.hpp"

namespace traceagent::process {

std::vector<Peer> look_at_peers(const RunFolder& folder, const std::string& own_path) {
  std::vector<Peer> peers;
  for (const std::string& path : ring_paths(folder)) {
    if (path == own_path) continue;
    ring::OpenedRing opened = ring::open_ring(path);
    if (!opened.ring.valid()) continue;
    const ring::Header& header = opened.ring.header();
    if (header.ready.load(std::memory_order_acquire) != 0) {
      Peer peer;
      peer.ring_path = path;
      peer.rank = header.identity.rank;
      peer.local_rank = header.identity.local_rank;
      peer.trace_pid = header.identity.trace_pid;
      peer.finished = header.finished.load(std::memory_order_seq_cst) != 0;
      peer.alive = opened.owner_alive;
      peers.push_back(peer);
    }
    ring::close_ring(opened);
  }
  return peers;
}

}  // namespace traceagent::process
