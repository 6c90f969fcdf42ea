#pragma once
// The processes of this node's run, as their rings show them, or the table of those that record
// into private memory.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/process/run_folder.hpp"
#include "agent/ring/private_workers.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::process {

struct Peer {
  std::string ring_path;    // of a private one a path without a file: it tells one from another
  bool is_private = false;  // its files are known to nobody's list, and it cannot be recovered
  std::string host;
  std::uint32_t pid = 0;  // in the namespace that it lives in
  std::int64_t rank = -1;
  std::int64_t local_rank = -1;
  std::int64_t trace_pid = -1;  // the rank, but for a second claimant; of a private one -1 then
  bool finished = false;        // it writes no more files
  bool lists_all = true;        // and in its list
  std::size_t unwritten = 0;    // windows without a file
  bool alive = false;
  bool is_rank() const noexcept { return trace_pid == rank; }
  // It could not write all, and its ring has to stay.
  bool keeps_ring() const noexcept { return finished && unwritten != 0; }
  // None of its files waits for room in the queue of uploads. Reads its list.
  bool has_queued_all() const;
  bool gone() const noexcept { return finished || !alive; }
};

// Nothing where its process was not ready yet. Not for this process's own ring, whose lock must not
// be touched: closing any descriptor of a file drops this process's POSIX lock on it.
// `problem` is set where the ring cannot be read: one line.
std::optional<Peer> look_at_peer(const std::string& ring_path, std::string& problem);

// <rank>-<pid>-<start>, as a ring's begins.
std::string private_workers_path(const RunFolder& folder, const ring::PrivateWorker& worker);

// All rings of the run but `own_path`, and all private workers but who has `own_place`.
// `problem` is set where a ring, or the folder, cannot be read: one line.
std::vector<Peer> look_at_peers(const RunFolder& folder, const std::string& own_path,
                                const ring::PrivatePlace& own_place, std::string& problem);

}  // namespace traceagent::process
