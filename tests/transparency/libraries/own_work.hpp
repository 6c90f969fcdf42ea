#pragma once
// The work of a job with its own yaml-cpp, zlib and libunwind. The agent has the first two within
// itself.

namespace traceagent::transparency {

/// Parses, deflates, inflates and unwinds, then does it while threads call the number of calls that
/// they are given; says of which versions and files the libraries are, and what came out.
extern "C" [[gnu::visibility("default")]] void work_with_own_libraries(int (*call)(int calls));

}  // namespace traceagent::transparency
