#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace simgpu {

/// One record as JSON, with the key that it is sorted by.
struct Line {
  std::int64_t begin_ns;
  std::string json;
};

/// Appends a file's records. Throws std::runtime_error with the file's name when it is no truth
/// file or of another version.
void read_truth(const std::string& path, std::vector<Line>& lines);

}  // namespace simgpu
