#pragma once
// The list of trace files that were written from a ring: <ring without .ring>.files, a path a line.
// Among them, as JSON objects, the records of files that could not be put into the queue of uploads
// so far; {} where none of those before it waits any more. Bounded: some ten thousand paths.

#include <string>
#include <string_view>
#include <vector>

namespace traceagent::ring {

std::string written_files_path(const std::string& ring_path);

// True for a ring without a path too. False where the line found no room: whoever merges must then
// look into the output folder (Header::finished is 2).
bool note_written_file(const std::string& ring_path, const std::string& trace_file);

// Each file once. `is_whole`, if given, becomes false where the list could not be read to its end.
std::vector<std::string> written_files(const std::string& ring_path, bool* is_whole = nullptr);

// Should its process be killed, who recovers the ring queues it. False: no room.
bool note_waiting_upload(const std::string& ring_path, std::string_view record);
// All that waited are queued.
void note_none_waits(const std::string& ring_path);
// Records, oldest first.
std::vector<std::string> waiting_uploads(const std::string& ring_path);

}  // namespace traceagent::ring
