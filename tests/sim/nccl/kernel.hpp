#pragma once

#include <vector>

#include "tests/sim/nccl/plan.hpp"

namespace simgpu::nccl {

/// The kernel that runs what one group asks of one communicator on one stream, with a block for
/// each channel of the plans: named as NCCL names it, after the largest collective among the tasks.
void describe_kernel(const std::vector<Task>& tasks, const std::vector<Plan>& plans,
                     WorkFacts& facts);

}  // namespace simgpu::nccl
