#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/sim/engine/work.hpp"

namespace simgpu {

struct MeetingHeader;
struct MeetingCell;
struct MeetingMember;

/// What identifies one meeting in the truth, and what must be equal on all ranks.
struct Label {
  std::uint16_t function = 0;
  std::uint64_t comm_hash = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::int32_t dtype = 0;
  std::int32_t op = 0;
  std::int32_t peer = -1;
};

/// The place where the ranks of one communicator meet: shared memory named by the communicator's
/// hash, unlinked as soon as everyone is in. Each rank writes its own cells only.
class Meeting {
 public:
  /// Enters; the others may come later. Throws std::runtime_error when the shared memory cannot be
  /// had, when the sizes differ or when the rank is taken.
  Meeting(std::uint64_t hash, int rank, int size, int device);
  ~Meeting();
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

  bool everyone_in();
  int rank() const { return rank_; }
  int size() const { return size_; }

  /// Says two numbers to everyone; they are there once exchanged() is true. Rounds are counted
  /// from 0 and every rank takes part in every round.
  void say(std::uint64_t round, std::int64_t first, std::int64_t second);
  bool exchanged(std::uint64_t round);
  std::pair<std::int64_t, std::int64_t> said(std::uint64_t round, int rank) const;

  /// Ends whatever is under way: nobody is waited for any more.
  void abort() { aborted_.store(true); }
  bool aborted() const { return aborted_.load(); }
  /// Whether nothing of this rank is under way.
  bool idle();

 private:
  friend class CollectivePart;
  friend class PairPart;

  MeetingCell& collective_cell(std::uint64_t seq, int rank);
  MeetingCell& pair_cell(int from, int to, std::uint64_t number, int side);
  std::atomic<std::uint64_t>& pair_settled(int from, int to, int side);
  std::uint64_t begin_collective();
  std::uint64_t begin_pair(int peer, bool sends);
  void settle_collective(std::uint64_t seq);
  void leave_pair();
  bool collective_cell_free(std::uint64_t seq);
  double link_factor() const;
  double link_factor(int peer) const;

  std::string name_;
  int rank_;
  int size_;
  std::size_t bytes_ = 0;
  MeetingHeader* header_ = nullptr;
  bool unlinked_ = false;
  std::atomic<bool> aborted_{false};
  std::mutex mutex_;
  std::uint64_t next_collective_ = 0;
  std::set<std::uint64_t> open_collectives_;
  std::vector<std::uint64_t> next_pair_;  // sends by peer, then receives by peer
  int open_pairs_ = 0;
};

/// A collective: ends for everyone after the last has arrived.
std::unique_ptr<Rendezvous> collective_part(std::shared_ptr<Meeting> meeting, const Label& label);
/// One side of a send (to the label's peer) with its receive.
std::unique_ptr<Rendezvous> pair_part(std::shared_ptr<Meeting> meeting, const Label& label,
                                      bool sends);

}  // namespace simgpu
