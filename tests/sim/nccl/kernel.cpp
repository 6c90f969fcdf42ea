#include "tests/sim/nccl/kernel.hpp"

#include <algorithm>
#include <string>

#include "tests/sim/engine/truth_file.hpp"
#include "tests/sim/nccl/functions.hpp"

namespace simgpu::nccl {
namespace {

const char* type_text(std::int32_t type) {
  constexpr const char* names[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                   "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
  return type >= 0 && type < ncclNumTypes ? names[type] : "i8";
}

const char* op_text(std::int32_t op) {
  constexpr const char* names[] = {"Sum", "Prod", "MinMax", "MinMax", "PreMulSum"};
  return op >= 0 && op < ncclNumOps ? names[op] : "PreMulSum";
}

std::string reduction(const char* name, const Label& label) {
  return std::string(name) + "_" + op_text(label.op) + "_" + type_text(label.dtype) + "_RING_LL";
}

std::string kernel_name(const Label& label) {
  switch (label.function) {
    case Number::ncclAllReduce:
      return reduction("AllReduce", label);
    case Number::ncclReduce:
      return reduction("Reduce", label);
    case Number::ncclReduceScatter:
      return reduction("ReduceScatter", label);
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

void describe_kernel(const std::vector<Task>& tasks, WorkFacts& facts) {
  const auto collective = std::find_if(tasks.begin(), tasks.end(), [](const Task& task) {
    return task.kind == Task::Kind::collective;
  });
  const Task& task = collective == tasks.end() ? tasks.front() : *collective;
  facts.kind = WorkKind::collective;
  facts.name = truth::name_id(mangled("ncclDevKernel_" + kernel_name(task.label)));
  const std::uint32_t channels =
      std::max(2U, std::min(24U, 2 * static_cast<unsigned>(tasks.size())));
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
