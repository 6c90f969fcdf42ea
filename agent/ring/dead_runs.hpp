#pragma once
// Runs whose processes are all dead, as their folders in shared memory show them: found, and
// removed by age. The folder's files: see agent/process/run_folder.hpp.

#include <cstdint>
#include <string>
#include <vector>

#include "agent/ring/private_workers.hpp"

namespace traceagent::ring {

struct Run {
  enum class State {
    gone,     // no such folder
    lives,    // some process of it does, or may
    dead,     // may be recovered, or removed
    refused,  // another user's, a link, or it holds what the agent does not make: see `problem`
  };
  State state = State::gone;
  std::string path;
  std::string problem;             // "<file>: <what>"
  std::vector<std::string> rings;  // sorted; none: it was killed as it began or as it cleaned up
  std::vector<std::string> notes;  // all its other files
  std::uint64_t ring_bytes = 0;    // memory that the rings take
  PrivateKilled private_killed;
  std::int64_t last_sign_ns = 0;  // CLOCK_REALTIME: the last that is known of its processes
};

// What the folder is. A process that makes a ring's lock, maps it or has just claimed a rank lives.
// Must not be asked about this process's own run: closing a ring's descriptor drops its lock.
Run look_at_run(const std::string& path);

// Whether the process that makes or has made a ring lives: by its lock; of a ring of another
// version, or a damaged one, also by its name.
bool has_living_owner(const std::string& ring_path);

// Removes the rings, then the notes, then the folder: whoever is killed in here leaves a run that
// can be removed again. Looks once more before, under the lock of who may set a run aside: nothing
// of one that is not dead goes. "" or one line of what stays.
std::string remove_dead_run(const std::string& path);

// Since when the files of the run's key are its own, and not an older run's.
inline constexpr const char* older_run_note = "older";
// Who started its ranks (agent/process/run_launcher.hpp).
inline constexpr const char* launcher_note = "launcher";
// What the first process has seen of an earlier run's ranks (agent/process/earlier_run.hpp).
inline constexpr const char* earlier_ranks_note = "earlier-ranks";

// A file in a run's folder that is no ring: what be_first() makes is empty, the others have names.
// Whatever else is there was not made by the agent: it, and so the folder, stays.
bool is_runs_note(const std::string& path);

// Made by claim_rank(): of a process that lives and is not a later one of that pid.
bool has_living_claimant(const std::string& claim_path);

struct OldRuns {
  std::size_t dead_runs = 0, dead_rings = 0;  // that are left
  std::uint64_t dead_bytes = 0;               // that those still take
  std::uint64_t given_back_bytes = 0;         // of those
  std::size_t removed_rings = 0;
  std::uint64_t removed_bytes = 0;
};

// Of a user's folder, all runs but `own_run`: those that are dead, and no sign of which is younger
// than `keep_ns`, go; 0: none goes. Those without a ring go in any case, unless they tell of killed
// processes of which nothing is left. What the rings of the others have not used goes back to the
// system (unused_memory.hpp). Those that take most come first; it ends when `patience_ns` are over,
// the rest is for the next time. Says nothing of what cannot be read or removed: that is somebody
// else's, or will be seen by `traceagent recover`.
OldRuns remove_old_runs(const std::string& users_folder, const std::string& own_run,
                        std::uint64_t keep_ns, std::uint64_t patience_ns);

// Memory that the rings of all runs there but `own_run` take, of the living and the dead: a bound
// of OldRuns::dead_bytes that is found fast; of so many as `patience_ns` are enough for.
std::uint64_t bytes_of_other_runs(const std::string& users_folder, const std::string& own_run,
                                  std::uint64_t patience_ns);

}  // namespace traceagent::ring
