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
  std::int64_t rank = -1;             // -1: the ring could not be read
  std::uint64_t lost = 0;             // events that found no room in the ring
  std::uint64_t events() const noexcept;
};

// Writes rank files of all windows of the ring that have none yet. Refuses a ring whose owner
// lives, and one of another layout version (both versions named). Bounded for any bytes, unless
// `any_size`: what a damaged ring would be written as is bounded by nothing but the disk. For
// `index_queue` see RankFileOptions.
Recovered recover_ring(const std::string& ring_path, bool any_size = false,
                       IndexQueue* index_queue = nullptr);

}  // namespace traceagent::drain
