#pragma once
// The process that made a ring, as /proc names it.

#include <cstdint>
#include <string>

namespace traceagent::ring {

// Field 22 of /proc/<pid>/stat, the start in clock ticks since boot; 0 when it cannot be read.
std::uint64_t start_time_of(std::uint32_t pid) noexcept;

// True while that very process runs: a later one with the same pid started at another time, and one
// that is dead but not waited for is dead. One whose main thread alone has left lives.
bool process_lives(std::uint32_t pid, std::uint64_t start_time) noexcept;

// The number of this process's pid namespace; 0 when it cannot be read.
std::uint64_t pid_namespace() noexcept;

// The same with the host's boot in it: hosts that share a file system number their first namespaces
// alike. 0 when either cannot be read.
std::uint64_t namespace_of_host() noexcept;

// True while the process has the file mapped, whatever path leads to it: after an exec it lives on
// without.
bool process_maps(std::uint32_t pid, const char* path) noexcept;
// A file of that path's name that the process has mapped, wherever it lies; or "".
std::string mapped_namesake(std::uint32_t pid, const std::string& path);

}  // namespace traceagent::ring
