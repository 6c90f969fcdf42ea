#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "agent/ring/private_workers.hpp"

namespace traceagent::tools {

struct DeadRings {
  std::vector<std::string> paths;
  std::vector<std::string> left;      // rings of runs that still go on
  std::vector<std::string> problems;  // folders that cannot be read: one line each
};

// Files as they are named; of a folder all rings within it, but for those of runs of which some
// process still lives: that run's merge takes care of its dead.
DeadRings find_dead_rings(const std::vector<std::string>& files_and_folders);

// The folders of the runs that the rings are of, sorted.
std::vector<std::string> runs_of(const std::vector<std::string>& rings);

// Of the rings those in the run's folder, by their files' names.
std::vector<std::string> names_in(const std::string& run, const std::vector<std::string>& rings);

// True when the rings, of one folder, are all that lie in it, and none of their processes lives.
bool is_whole_dead_run(const std::vector<std::string>& rings);

// Of the run's processes that recorded in private memory: those that were killed. Of them nothing
// can be recovered.
ring::PrivateKilled private_workers_killed(const std::string& run);

// Whether a run's folder is another user's, who says which rings are its own and what they have
// written.
bool is_others_folder(const std::string& run);

// Where this user's rings lie under `ring.folder`.
std::string users_ring_folder(const std::string& ring_folder);

// Removes what is left, without a ring, of those of these runs that were killed as they began, as
// they removed their folder, or with nothing but private memory. Returns how many processes were
// killed that had recorded in private memory, of which nothing tells any more.
ring::PrivateKilled remove_ringless_runs(const std::vector<std::string>& runs);

// Where a user's rings are made, if nothing is in it: who made it was killed then.
void remove_empty_users_folder(const std::string& folder);

// Removes the ring and its list, then its run's folder if no other ring is in it. Returns one line
// where the ring stays.
std::string remove_dead_ring(const std::string& path);

}  // namespace traceagent::tools
