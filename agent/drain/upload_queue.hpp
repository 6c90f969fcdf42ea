#pragma once
// Puts finished files into the queue of uploads (agent/trace/upload_journal.hpp), from what the
// ring says of the options: the same in the job and in `recover`.

#include <string>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

// Each returns one line where something is wrong, else "". Nothing happens where the options name
// no place for such a file.
std::string queue_rank_file(const ring::Ring& ring, const ring::Window& window,
                            const std::string& path);
std::string queue_node_file(const ring::Ring& ring, const std::string& path);
// The node's file is made, or will not be: no rank file need wait for it.
std::string queue_end_of_run(const ring::Ring& ring);

// This host's, in the folder of the run's files.
std::string upload_journal(const ring::Ring& ring);

}  // namespace traceagent::drain
