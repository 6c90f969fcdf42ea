#pragma once
// Where the ranks of a node meet without talking: a folder in shared memory with their rings.
//
//   <ring.folder>/traceagent-<uid>/<run>/claim-rank<R>     pid and start of the process that is R
//                                        <R>-<pid>-<n>.ring     a process's ring
//                                        <R>-<pid>-<n>.files    the trace files it has written
//                                        output                 verdict on the output folder
//                                        merge, …               see be_first()
//                                        private-workers        see ring/private_workers.hpp
//                                        aside, older           see claim_rank()
//                                        earlier-ranks          see earlier_run.hpp
//                                        launcher               see run_launcher.hpp
//                                        takes-orphans-…        see keeper.cpp
//
// <run> is the run key, and names the node too where it is another than the first: nodes of a run
// may be on one machine (agent/ring/run_folder_name.hpp).

#include <cstdint>
#include <string>
#include <vector>

#include "agent/process/proc_facts.hpp"

namespace traceagent::process {

struct RunFolder {
  std::string path;                 // empty: cannot be had
  std::string problem;              // one line, or empty
  std::int64_t older_until_ns = 0;  // where there is no folder for the note `older`
};

// Makes the user's folder (0700, refused if it belongs to someone else) and the run's within it.
// `node_rank` is the same on all ranks of the node.
RunFolder make_run_folder(const std::string& ring_folder, const std::string& run_key,
                          std::int64_t node_rank = 0);

struct Claimant {
  std::int64_t rank;
  int pid;
  std::int64_t rank_start_ns = 0;     // CLOCK_REALTIME; 0: not known
  std::int64_t world_size = 0;        // 0: not stated
  int launcher_pid = 0;               // 0: not known
  std::vector<Forebear> family = {};  // see Identity
};

// 0 for the process that is the rank; for a later one that claims it too its number, 1, 2, ….
//
// Runs that have no id of their job may share a key with an older one that was killed. Where the
// rank is claimed by a process that is dead, or has begun after the last that is known of the
// folder's (see is_dead_run() in older_run.hpp), and so are all others there dead, and some did not
// end in good order, it is that one's: it is set aside as <run>.dead-<pid>, for `traceagent
// recover`, and the run gets a new one. The notes `aside` there and `older` here hold the time
// (CLOCK_REALTIME ns) between the two runs' files; so does `older` where the other run ended in
// good order and left no folder (earlier_run.hpp).
// Without the rank's start only its claim tells.
std::int64_t claim_rank(const RunFolder& folder, const Claimant& claimant);
// Of ranks and their workers.
std::vector<std::string> claim_paths(const RunFolder& folder);

// Whether the process has claimed the rank, as the rank itself, in any of this user's runs that was
// launched: what launches ranks may be traced as a process of its own, which is rank 0. Pid and
// start as in /proc.
bool holds_rank(const std::string& ring_folder, int pid, std::uint64_t start_ticks,
                std::int64_t rank);

// A path for this process's ring that does not exist yet. "" without a folder.
std::string ring_path(const RunFolder& folder, std::int64_t rank, int pid);
// `problem`, if given, is set where the folder cannot be read.
std::vector<std::string> ring_paths(const RunFolder& folder, std::string* problem = nullptr);

// True for the first process of the run that asks with this topic (a plain file name); for each
// process where the ranks cannot meet.
bool be_first(const RunFolder& folder, const std::string& topic);
bool has_been(const RunFolder& folder, const std::string& topic);
inline constexpr const char* merge_topic = "merge";           // taken by who merges
inline constexpr const char* left_out_topic = "merge-again";  // some rank ran on after the merge
inline constexpr const char* tidied_topic = "tidied";         // rings of dead workers are gone
inline constexpr const char* second_merge_topic = "merge-2";  // taken by the last of those

// False too where that cannot be seen.
bool has_no_ring(const RunFolder& folder) noexcept;
// A note of that name is there; takes no memory.
bool has_note(const RunFolder& folder, const char* name) noexcept;

class Spared;

// Removes the run's files and folder, but what is `spared`'s. Returns one line where something else
// stays, else nothing; takes no memory unless there is such a line, or something spared.
std::string remove_run_folder(const RunFolder& folder, const Spared* spared = nullptr);

}  // namespace traceagent::process
