#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/sim/nccl/group.hpp"

namespace simgpu::nccl {

/// How an operation is carried out, in NCCL's words, as its profiler interface tells it.
struct Plan {
  std::uint16_t function = 0;  // Number
  const char* name = "";       // "AllReduce"
  std::uint64_t sequence = 0;  // of its kind in the communicator; of no use for sends and receives
  bool is_pair = false;        // a send or a receive
  std::size_t count = 0;       // NCCL gathers and broadcasts bytes
  int datatype = 0;
  int peer = -1;  // or root
  int channels = 0;
  int algorithm = -1, protocol = -1;  // NCCL's numbers; -1 for sends and receives
};

const char* algorithm_name(int algorithm);
const char* protocol_name(int protocol);
const char* datatype_name(int datatype);

/// The plans of a task: one, but for an all-to-all, a gather or a scatter, which are sends and
/// receives. None in a communicator of one rank, which copies. Counts the sequence numbers.
std::vector<Plan> plans_of(const Task& task);

/// Writes the plans into $SIMGPU_NCCL_PLANS ({pid} is filled in): JSON lines, for tests.
void note_plans(const Task& task, const std::vector<Plan>& plans);

}  // namespace simgpu::nccl
