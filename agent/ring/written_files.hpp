#pragma once
// The list of trace files that were written from a ring: <ring without .ring>.files, a path a line.

#include <string>
#include <vector>

namespace traceagent::ring {

std::string written_files_path(const std::string& ring_path);

// True for a ring without a path too. False where the line found no room: whoever merges must then
// look into the output folder (Header::finished is 2).
bool note_written_file(const std::string& ring_path, const std::string& trace_file);

// Each file once. `is_whole`, if given, becomes false where the list could not be read to its end.
std::vector<std::string> written_files(const std::string& ring_path, bool* is_whole = nullptr);

}  // namespace traceagent::ring
