#pragma once
// The list of trace files that were written from a ring: <ring without .ring>.files, a path a line.

#include <string>
#include <vector>

namespace traceagent::ring {

std::string written_files_path(const std::string& ring_path);

// Nothing for a ring without a path. A line that finds no room is lost: the merge then finds the
// file in the output folder.
void note_written_file(const std::string& ring_path, const std::string& trace_file);

// Each file once.
std::vector<std::string> written_files(const std::string& ring_path);

}  // namespace traceagent::ring
