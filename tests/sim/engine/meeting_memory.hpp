#pragma once

#include <atomic>
#include <cstdint>

/// The shared memory of a meeting: header, members, collective cells, pairs.
namespace simgpu {

inline constexpr std::uint64_t collective_ring = 1024;
inline constexpr std::uint64_t pair_ring = 128;

struct MeetingHeader {
  std::atomic<std::uint32_t> size;  // set by whoever comes first
  std::uint32_t unused[15];
};

struct MeetingMember {
  std::atomic<std::uint32_t> joined;
  std::int32_t global_rank;
  std::int32_t device;
  std::int32_t pid;
  std::atomic<std::uint64_t> settled;     // collectives below this number are settled here
  std::atomic<std::uint64_t> said_round;  // 1 + the last round spoken in
  std::int64_t said[2][2];                // by round modulo 2
};

/// Written by one rank: first the contents, then the stamp (release); read after the stamp
/// (acquire).
struct MeetingCell {
  std::atomic<std::uint64_t> stamp;  // 1 + sequence number
  std::int64_t arrived_ns;
  std::uint64_t signature;
};

struct MeetingPair {
  std::atomic<std::uint64_t> settled[2];  // by side: 0 sends, 1 receives
  MeetingCell cells[pair_ring][2];
};

}  // namespace simgpu
