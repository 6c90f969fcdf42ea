#pragma once
// Ranks and workers that record into memory of their own (agent/process/private_workers.hpp), of
// which no ring tells: a table in the run's folder. It has as many places as such workers ever
// lived at once: the place of a dead one is the next one's, and counts those that were killed.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace traceagent::ring {

inline constexpr const char* private_workers_note = "private-workers";

// A place of the table, as it lies in the file.
struct PrivateWorker {
  std::uint32_t pid = 0;       // 0: never taken
  std::uint32_t finished = 0;  // atomic; 1: it writes no more files
  std::uint64_t start_time = 0;
  std::uint64_t killed_before = 0;  // of those whose place it was
  std::uint64_t pid_namespace = 0;
  std::int64_t rank = -1, local_rank = -1;
  std::uint64_t is_rank = 0;              // 1: no second claimant of it; 0 in older tables
  std::uint64_t ranks_killed_before = 0;  // of killed_before
};
static_assert(sizeof(PrivateWorker) == 64);
inline constexpr std::size_t most_private_workers = 1024;  // that live at once
inline constexpr std::size_t no_private_place = most_private_workers;

// A process's own.
struct PrivatePlace {
  PrivateWorker* worker = nullptr;  // mapped: the job may close our descriptor and use its number
  std::size_t number = no_private_place;
};

// For this process, until it is dead. Nothing where there is no room, or no file can be made.
PrivatePlace take_private_place(const std::string& run, std::int64_t rank, std::int64_t local_rank,
                                bool is_rank);
void finish_private_worker(const PrivatePlace& own) noexcept;

// Before they finished. What they had not written yet nobody can recover.
struct PrivateKilled {
  std::uint64_t ranks = 0, workers = 0;
  std::uint64_t count() const noexcept { return ranks + workers; }
  PrivateKilled& operator+=(const PrivateKilled& others) noexcept {
    ranks += others.ranks;
    workers += others.workers;
    return *this;
  }
};
std::string in_words(const PrivateKilled& killed);       // "1 rank and 2 workers"
std::string lost_in_words(const PrivateKilled& killed);  // "were killed: lost"

struct PrivateWorkers {
  std::vector<PrivateWorker> living;
  std::vector<PrivateWorker> dead;  // the last of each place whose worker is dead
  PrivateKilled killed;             // ever
};
// Without this process's own, whose lock goes by this: call once it has finished.
PrivateWorkers private_workers_of(const std::string& run, const PrivatePlace& own = {});

}  // namespace traceagent::ring
