#pragma once

#include <ctime>
#include <string>

namespace traceagent::ring {

// Made by a process that was killed before it could record: it holds nothing. False where it may
// live: it shows by its lock, by its pid in the file's name while it is not in the ring, or, of
// another pid namespace, by nothing at all. Not before ten seconds, by which a start has the lock.
bool is_stillborn(const std::string& path, std::time_t now_s);

}  // namespace traceagent::ring
