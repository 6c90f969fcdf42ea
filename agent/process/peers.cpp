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
    peer->pid = header.owner_pid;
    peer->rank = header.identity.rank;
    peer->local_rank = header.identity.local_rank;
    peer->trace_pid = header.identity.trace_pid;
    const std::uint32_t finished = header.finished.load(std::memory_order_seq_cst);
    peer->finished = finished != 0;
    peer->lists_all = finished == 1;
    peer->unwritten = ring::unwritten_windows(opened.ring);
    peer->alive = opened.owner_alive;
  }
  ring::close_ring(opened);
  return peer;
}

std::string private_workers_path(const RunFolder& folder, const ring::PrivateWorker& worker) {
  return folder.path + "/" + std::to_string(worker.rank) + "-" + std::to_string(worker.pid) + "-" +
         std::to_string(worker.start_time);
}

namespace {

Peer as_peer(const RunFolder& folder, const ring::PrivateWorker& worker, bool is_alive) {
  Peer peer;
  peer.ring_path = private_workers_path(folder, worker);
  peer.is_private = true;
  peer.pid = worker.pid;
  peer.rank = worker.rank;
  peer.local_rank = worker.local_rank;
  if (worker.is_rank != 0) peer.trace_pid = worker.rank;
  peer.finished = worker.finished != 0;
  peer.lists_all = false;
  peer.alive = is_alive;
  return peer;
}

void add_private_workers(const RunFolder& folder, const ring::PrivatePlace& own,
                         std::vector<Peer>& peers) {
  if (folder.path.empty()) return;
  const ring::PrivateWorkers workers = ring::private_workers_of(folder.path, own);
  for (const auto& worker : workers.living) peers.push_back(as_peer(folder, worker, true));
  for (const auto& worker : workers.dead) peers.push_back(as_peer(folder, worker, false));
}

}  // namespace

std::vector<Peer> look_at_peers(const RunFolder& folder, const std::string& own_path,
                                const ring::PrivatePlace& own_place, std::string& problem) {
  std::vector<Peer> peers;
  for (const std::string& path : ring_paths(folder, &problem)) {
    if (path == own_path) continue;
    if (std::optional<Peer> peer = look_at_peer(path, problem)) peers.push_back(std::move(*peer));
  }
  add_private_workers(folder, own_place, peers);
  return peers;
}

}  // namespace traceagent::process
