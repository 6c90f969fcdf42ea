#include "agent/process/peers.hpp"

#include <utility>

#include "agent/ring/written_files.hpp"

namespace traceagent::process {

bool Peer::has_queued_all() const { return ring::waiting_uploads(ring_path).empty(); }

std::optional<Peer> look_at_peer(const std::string& ring_path, std::string& problem) {
  std::optional<Peer> peer;
  ring::OpenedRing opened = ring::open_ring(ring_path);
  if (!opened.ring.valid()) {
    if (!opened.is_gone && !opened.is_unmade) problem = opened.problem;
    return peer;
  }
  const ring::Header& header = opened.ring.header();
  if (header.ready.load(std::memory_order_acquire) != 0) {
    peer.emplace();
    peer->ring_path = ring_path;
    peer->host = opened.ring.name(header.identity.host);
    peer->rank = header.identity.rank;
    peer->local_rank = header.identity.local_rank;
    peer->trace_pid = header.identity.trace_pid;
    const std::uint32_t finished = header.finished.load(std::memory_order_seq_cst);
    peer->finished = finished != 0;
    peer->lists_all = finished == 1;
    peer->has_unwritten = ring::has_unwritten_window(opened.ring);
    peer->alive = opened.owner_alive;
  }
  ring::close_ring(opened);
  return peer;
}

std::vector<Peer> look_at_peers(const RunFolder& folder, const std::string& own_path,
                                std::string& problem) {
  std::vector<Peer> peers;
  for (const std::string& path : ring_paths(folder, &problem)) {
    if (path == own_path) continue;
    if (std::optional<Peer> peer = look_at_peer(path, problem)) peers.push_back(std::move(*peer));
  }
  return peers;
}

}  // namespace traceagent::process
