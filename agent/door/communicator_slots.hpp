#pragma once
// The places in the ring's table of communicators, which records point to: a job may make and
// destroy more communicators than there are places.

#include <cstdint>

namespace traceagent::door {

struct CommunicatorEntry {
  std::uint64_t hash;
  std::int32_t size, rank;
  std::int32_t device;  // or event::told_by_nccl
};

// Index in the table, plus 1. 0: no ring, or all places are taken, which is counted. The place of
// one that has gone is taken again once every window that may show its calls has been written.
std::uint32_t take_communicator_slot(const CommunicatorEntry& entry) noexcept;
// The communicator has gone. `slot` 0 is none; it must be one of the present ring's.
void free_communicator_slot(std::uint32_t slot) noexcept;

}  // namespace traceagent::door
