#pragma once

#include <cstdint>
#include <string>

namespace traceagent::tools {

// Of a file at a moment. Where two of them are the same, and the first is settled, it was not
// written to in between.
struct FileState {
  bool is_regular = false;  // may be read twice
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;
  std::int64_t changed_ns = 0;
  // The last change is so long ago that the next one will have another time: file systems' clocks
  // stand still for some milliseconds.
  bool is_settled = false;
};

// Whether it is the file that `before` was of, and as it was then, as far as this tells.
bool is_unchanged(const FileState& before, const FileState& now);

// Where there is none: all zero.
FileState state_of(const std::string& path);

}  // namespace traceagent::tools
