#pragma once
// How often each place called, in memory or in the file that FAULTS_PLACES names, which several
// processes share and which a SIGKILL leaves. fault_places.py reads it.

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace traceagent::faults {

// A place: a function of faults.def and the return address of the call, as an offset in its object.
struct Place {
  std::atomic<std::uint64_t> key;    // function << 48 | offset; 0: empty
  std::atomic<std::uint64_t> calls;  // so far, of all processes that share the file
  std::atomic<std::uint64_t> hits;   // calls of which a rule made something else
  std::atomic<std::uint64_t> reserved;
};
static_assert(sizeof(Place) == 32);
inline constexpr std::size_t place_count = 8192;

struct PlaceTable {
  Place places[place_count];
  std::atomic<std::uint64_t> calls_of_function[256];
  std::atomic<std::uint64_t> calls;  // those that MEMORY rows do not name
};

/// The file's, mapped; a table of this process alone where `path` is null or cannot be had.
PlaceTable& map_table(const char* path) noexcept;

/// Finds or adds; a table that is full ends the process.
Place& place_of(PlaceTable& table, std::size_t function, std::uint64_t offset) noexcept;

}  // namespace traceagent::faults
