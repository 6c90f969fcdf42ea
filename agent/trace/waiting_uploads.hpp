#pragma once
// What waits in a journal of uploads, as the job sees it: no tree is built of its records.

#include <cstddef>
#include <string>
#include <vector>

namespace traceagent::trace {

struct WaitingUpload {
  std::string id;
  std::string file;  // its name in the folder, with the escapes of its record
};

// Files of the queue that are neither uploaded nor gone, oldest first. Of a file that was queued
// again the latest alone.
std::vector<WaitingUpload> waiting_uploads(const std::string& journal);
std::size_t pending_uploads(const std::string& journal);

}  // namespace traceagent::trace
