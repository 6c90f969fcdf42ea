#pragma once

#include <vector>

#include "tests/sim/nccl/group.hpp"

namespace simgpu::nccl {

/// The kernel that runs what one group asks of one communicator on one stream: named as NCCL names
/// it, after the first collective among the tasks.
void describe_kernel(const std::vector<Task>& tasks, WorkFacts& facts);

}  // namespace simgpu::nccl
