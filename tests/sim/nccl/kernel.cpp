#include "tests/sim/nccl/kernel.hpp"

#include <algorithm>
#include <string>

#include "tests/sim/engine/truth_file.hpp"
#include "tests/sim/nccl/functions.hpp"

namespace simgpu::nccl {
namespace {

// Signed and unsigned numbers are summed alike, by the kernel for the latter.
const char* type_text(std::int32_t type) {
  constexpr const char* names[] = {"u8",  "u8",  "u32", "u32",  "u64",    "u64",
                                   "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  return type >= 0 && type < ncclNumTypes ? names[type] : "i8";
}

// NCCL has kernels for sums by LL alone: the others run in them too, a tree's in one of its own.
std::string reduction(const char* name, const Label& label, const std::string& algorithm) {
  return std::string(name) + "_Sum_" + type_text(label.dtype) +
         (algorithm == "TREE" ? "_TREE_LL" : "_RING_LL");
}

std::string kernel_name(const Label& label, const std::string& algorithm) {
  switch (label.function) {
    case Number::ncclAllReduce:
      return reduction("AllReduce", label, algorithm);
    case Number::ncclReduce:
      return reduction("Reduce", label, algorithm);
    case Number::ncclReduceScatter:
      return reduction("ReduceScatter", label, algorithm);
    case Number::ncclBroadcast:
      return "Broadcast_RING_LL";
    case Number::ncclAllGather:
      return "AllGather_RING_LL";
    default:  // also what is made of sends and receives: all-to-all, gather, scatter
      return "SendRecv";
  }
}

std::string mangled(const std::string& name) {
  return "_Z" + std::to_string(name.size()) + name + "24ncclDevKernelArgsStorageILm4096EE";
}

}  // namespace

void describe_kernel(const std::vector<Task>& tasks, const std::vector<Plan>& plans,
                     WorkFacts& facts) {
  const Task* task = &tasks.front();
  for (const Task& each : tasks) {
    const bool is_collective = each.kind == Task::Kind::collective;
    const bool is_first = is_collective && task->kind != Task::Kind::collective;
    if (is_first || (is_collective && each.label.bytes > task->label.bytes)) {
      task = &each;
    }
  }
  std::uint32_t channels = 1;
  std::string algorithm;
  for (const Plan& plan : plans) {
    channels = std::max(channels, static_cast<std::uint32_t>(plan.channels));
    if (!plan.is_pair && algorithm.empty()) {
      algorithm = algorithm_name(plan.algorithm);
    }
  }
  facts.kind = WorkKind::collective;
  facts.name = truth::name_id(mangled("ncclDevKernel_" + kernel_name(task->label, algorithm)));
  const std::uint32_t grid[] = {channels, 1, 1};
  const std::uint32_t block[] = {512, 1, 1};
  std::copy_n(grid, 3, facts.grid);
  std::copy_n(block, 3, facts.block);
  facts.static_shared_bytes = 82'240;
  facts.registers = 96;
  for (const Task& each : tasks) {
    facts.bytes += each.label.bytes;
  }
}

}  // namespace simgpu::nccl
