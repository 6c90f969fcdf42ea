#include "tests/sim/nccl/plan.hpp"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string>

#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/rank.hpp"
#include "tests/sim/nccl/functions.hpp"

namespace simgpu::nccl {
namespace {

constexpr const char* algorithms[] = {
    "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
// What NCCL chooses from.
constexpr std::array all_reduces{1, 0, 2, 3, 4, 5};
constexpr std::array gathers_and_scatters{1, 2, 4, 6};
constexpr std::array others{1};
constexpr const char* protocols[] = {"LL", "LL128", "SIMPLE"};
constexpr const char* datatypes[] = {"ncclInt8",     "ncclUint8",      "ncclInt32",
                                     "ncclUint32",   "ncclInt64",      "ncclUint64",
                                     "ncclFloat16",  "ncclFloat32",    "ncclFloat64",
                                     "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

const char* name_of(std::uint16_t function) {
  switch (function) {
    case Number::ncclAllReduce:
      return "AllReduce";
    case Number::ncclReduce:
      return "Reduce";
    case Number::ncclBroadcast:
      return "Broadcast";
    case Number::ncclReduceScatter:
      return "ReduceScatter";
    case Number::ncclAllGather:
      return "AllGather";
    case Number::ncclSend:
      return "Send";
    default:
      return "Recv";
  }
}

Plan pair(const Task& task, bool sends, int peer) {
  Plan plan;
  plan.function = sends ? Number::ncclSend : Number::ncclRecv;
  plan.name = name_of(plan.function);
  plan.is_pair = true;
  plan.count = task.label.count;
  plan.datatype = task.label.dtype;
  plan.peer = peer;
  plan.channels = 1 + peer % 2;
  return plan;
}

std::span<const int> algorithms_of(std::uint16_t function) {
  switch (function) {
    case Number::ncclAllReduce:
      return all_reduces;
    case Number::ncclReduceScatter:
    case Number::ncclAllGather:
      return gathers_and_scatters;
    default:
      return others;
  }
}

// Of many small ones: whatever NCCL chooses from, each value occurs.
Plan collective(const Task& task) {
  Plan plan;
  plan.function = task.label.function;
  plan.name = name_of(plan.function);
  plan.sequence = task.comm->sequences[plan.function].fetch_add(1);
  plan.count = task.label.count;
  plan.datatype = task.label.dtype;
  plan.peer = task.label.peer < 0 ? 0 : task.label.peer;
  if (plan.function == Number::ncclAllGather || plan.function == Number::ncclBroadcast) {
    plan.count = task.type_bytes * plan.count;
    plan.datatype = ncclInt8;
  }
  const std::uint64_t bytes = task.label.bytes;
  plan.protocol = bytes < 1024 ? 0 : bytes < 65536 ? 1 : 2;
  const std::span<const int> choice = algorithms_of(plan.function);
  plan.algorithm = choice[plan.sequence % choice.size()];
  plan.channels = 1 + static_cast<int>(bytes / 4096 % 24);
  return plan;
}

std::FILE* plans_file() {
  static std::FILE* file = [] {
    const char* name = std::getenv("SIMGPU_NCCL_PLANS");
    if (name == nullptr || *name == '\0') {
      return static_cast<std::FILE*>(nullptr);
    }
    std::string path = name;
    if (const auto at = path.find("{pid}"); at != std::string::npos) {
      path.replace(at, 5, std::to_string(getpid()));
    }
    return std::fopen(path.c_str(), "we");
  }();
  return file;
}

}  // namespace

const char* algorithm_name(int algorithm) {
  return algorithm < 0 ? "Unknown" : algorithms[algorithm];
}
const char* protocol_name(int protocol) { return protocol < 0 ? "Unknown" : protocols[protocol]; }
const char* datatype_name(int datatype) { return datatypes[datatype]; }

std::vector<Plan> plans_of(const Task& task) {
  std::vector<Plan> plans;
  if (task.comm->size == 1) {
    return plans;
  }
  if (task.kind != Task::Kind::collective) {
    return {pair(task, task.kind == Task::Kind::send, task.label.peer)};
  }
  const int rank = task.comm->rank, root = task.label.peer;
  for (int each = 0; each < task.comm->size; ++each) {
    switch (task.label.function) {
      case Number::ncclAlltoAll:
        plans.push_back(pair(task, true, each));
        plans.push_back(pair(task, false, each));
        break;
      case Number::ncclGather:
        if (each == 0) plans.push_back(pair(task, true, root));
        if (rank == root) plans.push_back(pair(task, false, each));
        break;
      case Number::ncclScatter:
        if (rank == root) plans.push_back(pair(task, true, each));
        if (each == 0) plans.push_back(pair(task, false, root));
        break;
      default:
        return {collective(task)};
    }
  }
  return plans;
}

void note_plans(const Task& task, const std::vector<Plan>& plans) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::FILE* file = plans_file();
  for (const Plan& plan : plans) {
    if (file == nullptr) {
      return;
    }
    std::fprintf(
        file,
        "{\"rank\": %d, \"tid\": %u, \"call\": %llu, \"function\": \"nccl%s\", "
        "\"pair\": %s, \"seq\": %llu, \"count\": %zu, \"dtype\": %d, \"peer\": %d, "
        "\"channels\": %d, \"algorithm\": \"%s\", \"protocol\": \"%s\", "
        "\"comm\": \"0x%llx\", \"comm_rank\": %d, \"comm_size\": %d}\n",
        rank_of_process(), current_thread(), static_cast<unsigned long long>(task.call_number),
        plan.name, plan.is_pair ? "true" : "false", static_cast<unsigned long long>(plan.sequence),
        plan.count, plan.datatype, plan.peer, plan.channels, algorithm_name(plan.algorithm),
        protocol_name(plan.protocol), static_cast<unsigned long long>(task.comm->hash),
        task.comm->rank, task.comm->size);
  }
  if (file != nullptr) {
    std::fflush(file);
  }
}

}  // namespace simgpu::nccl
