#pragma once
// What a dead process had recorded and not written, from its ring's file.

#include <cstdint>
#include <string>
#include <vector>

namespace traceagent::drain {

class IndexQueue;

struct RecoveredFile {
  std::string path;
  std::uint64_t events = 0;
};

struct Recovered {
  std::vector<RecoveredFile> files;   // written now, and noted beside the ring
  std::vector<std::string> problems;  // one line each
  std::vector<std::string> notes;     // one line each: the files are whole, something else is not
  std::string nothing;                // why there was nothing to write, though nothing is wrong
  std::size_t queued = 0;             // files that waited for room in the queue of uploads
  std::int64_t rank = -1;             // -1: the ring could not be read
  std::uint64_t lost = 0;             // events that found no room in the ring
  std::uint64_t overwritten = 0;      // that gave way to newer ones, as the job wanted
  std::uint64_t events() const noexcept;
};

// Writes rank files of all windows of the ring that have none yet. Refuses a ring whose owner
// lives, and one of another layout version (both versions named). Bounded for any bytes, unless
// `any_size`: what a damaged ring would be written as is bounded by nothing but the disk. For
// `index_queue` see RankFileOptions.
Recovered recover_ring(const std::string& ring_path, bool any_size = false,
                       IndexQueue* index_queue = nullptr);

// The files alone that waited, of a process that lives and writes no more: they stand in the queue
// before who calls this says there that the run has ended. What cannot be queued its owner tells.
void queue_waiting_uploads(const std::string& ring_path);

}  // namespace traceagent::drain
