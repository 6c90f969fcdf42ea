#pragma once
// Puts finished files into the queue of uploads (agent/trace/upload_journal.hpp), from what the
// ring says of the options: the same in the job and in `recover`.

#include <string>
#include <vector>

#include "agent/ring/ring.hpp"
#include "agent/trace/json_object.hpp"
#include "agent/trace/queued_files.hpp"

namespace traceagent::drain {

// A file that is to be uploaded, as the journal will tell of it.
struct UploadRequest {
  std::string path;
  const char* option = "";   // that names the place
  trace::JsonObject record;  // empty: the options name no place for such a file, or see `problem`
  std::string problem;       // why it can never be queued, without a remedy
};

UploadRequest rank_file_upload(const ring::Ring& ring, const ring::Window& window,
                               const std::string& path);
UploadRequest node_file_upload(const ring::Ring& ring, const std::string& path);
// Returns what went wrong, without the file and a remedy, or "". A later attempt may succeed.
std::string append_upload(const ring::Ring& ring, const UploadRequest& request);
// The same for a record that stands in its ring's list (ring::waiting_uploads).
std::string append_noted(const ring::Ring& ring, const std::string& record);
std::string file_of_record(const ring::Ring& ring, const std::string& record);

// Both in one: one line where something is wrong, else "".
std::string queue_rank_file(const ring::Ring& ring, const ring::Window& window,
                            const std::string& path);
std::string queue_node_file(const ring::Ring& ring, const std::string& path);

// What is to be done about such a problem.
inline constexpr const char* not_queued = ": it is not queued: upload it by hand";

// This process's files in this host's queue, before the first look at it.
trace::QueuedFiles queued_files(const ring::Ring& ring);
// A file that waits is removed next, and never uploaded. Returns what went wrong, or "".
std::string append_left_out(const ring::Ring& ring, const std::string& id);
// One that is uploaded is removed.
std::string append_removed(const ring::Ring& ring, const std::string& id);

// output.remote is set.
bool uploads_rank_files(const ring::Ring& ring);

// This host's, in the folder of the run's files.
std::string upload_journal(const ring::Ring& ring);

}  // namespace traceagent::drain
