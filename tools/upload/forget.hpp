#pragma once

#include <cstddef>
#include <set>
#include <string>

#include "tools/upload/uploader.hpp"

namespace traceagent::tools {

struct Forgotten {
  std::set<std::string> ids;
  std::size_t on_their_way = 0;  // another process delivers them now: they stay in the queue
};

// Takes out of the folder's queues what waits for a target that nobody wants any more, tells each,
// and notes it in the journal and the run's index as left out. The files stay. `target`: as --to
// has it; all that lies below it, or a command that begins so (by one word: the
// only one). Returns their ids: the server may have parts of them still. What is on its way is
// told, and stays. Throws std::runtime_error where a journal cannot be read or told.
Forgotten forget_uploads(const std::string& folder, const std::string& target, const Tell& tell);

// The problems of places for which nothing waits any more. A line that names none (of an uploader
// that could not begin) goes with what was forgotten: the next one says it again. Throws as above.
void forget_problems(const std::string& folder, bool is_any_forgotten);

}  // namespace traceagent::tools
