#pragma once
// A window of a ring as a rank file: in the job's writer thread and in `traceagent recover` alike.

#include <cstdint>
#include <string>

#include "agent/ring/ring.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::drain {

class IndexQueue;

struct RankFileReport {
  std::string path;
  std::string problem;  // one line; empty: the file is there, whole
  std::string evaded;   // the name that others have taken, see is_of_several_ranks; or empty
  bool is_of_several_ranks = false;  // so is the name by its template; else who took it came later
  bool is_shortened = false;         // see NamedFile
  std::string upload_problem;        // of a recovered file: it could not be queued
  std::int64_t base_ns = 0;          // where its times begin; 0: not known
  std::uint64_t events = 0;
  // As it says: what is overwritten after it is in it, but counted for the window too.
  ring::DropCounts dropped{};
  std::uint64_t early_launches = 0;  // whose work has no times: CUPTI was not on yet
  bool has_calls_alone = false;      // of CUDA, and no source of device times
  std::uint64_t bytes = 0;           // of the finished file
  std::uint64_t replaced_bytes = 0;  // of this process's own file, whose place it has
  bool is_too_large = false;         // given up for most_bytes
  std::string
      index_problem;  // one line: the file is there, but the run's index does not tell of it
};

struct RankFileOptions {
  std::uint64_t most_bytes = UINT64_MAX;  // that the file may have, beside what it replaces
  bool recovered = false;                 // written after the process died: said in the file
  trace::JsonObject coverage;  // what only the live process knows (went round, step detection)
  IndexQueue* index_queue = nullptr;  // who has none waits for the run's index
};

// Writes the window to rank_file_name()'s path; with the pid in its name where another process has
// left a file of that name: of the run, which claimed the rank before, or of another run that found
// the folder empty too. Throws std::bad_alloc where
// there is no memory even to say so.
RankFileReport write_rank_file(const ring::Ring& ring, const ring::Window& window,
                               const RankFileOptions& options);

}  // namespace traceagent::drain
