#include "tests/sim/nccl/plugin_description.hpp"

#include "tests/sim/nccl/functions.hpp"

namespace simgpu::nccl::plugin {
namespace {

// Version 1 numbers the functions.
std::uint8_t number_of(const Plan& plan) {
  switch (plan.function) {
    case Number::ncclBroadcast:
      return 0;
    case Number::ncclReduce:
      return 1;
    case Number::ncclAllGather:
      return 2;
    case Number::ncclReduceScatter:
      return 3;
    case Number::ncclAllReduce:
      return 4;
    case Number::ncclSend:
      return 6;
    default:
      return 7;
  }
}

void put_function(Description& to, int version, std::size_t offset, const Plan& plan) {
  version == 1 ? to.put(offset, number_of(plan)) : to.put(offset, plan.name);
}
void put_datatype(Description& to, int version, std::size_t offset, const Plan& plan) {
  version == 1 ? to.put(offset, static_cast<std::uint8_t>(plan.datatype))
               : to.put(offset, datatype_name(plan.datatype));
}

void put_pair(Description& to, int version, const Plan& plan) {
  const std::size_t function = version <= 3 ? 40 : 24;
  put_function(to, version, function, plan);
  put_datatype(to, version, function + 16, plan);
  to.put(function + 24, plan.count);
  to.put(function + 32, plan.peer);
  if (version >= 4) {
    to.put(60, static_cast<std::uint8_t>(plan.channels));
  }
}

void put_collective(Description& to, int version, const Plan& plan) {
  const std::size_t sequence = version <= 3 ? 40 : 24;
  to.put(sequence, plan.sequence);
  put_function(to, version, sequence + 8, plan);
  to.put(sequence + 32, plan.count);
  to.put(sequence + 40, plan.peer);
  put_datatype(to, version, version == 1 ? 84 : sequence + 48, plan);
  const std::size_t channels = version <= 2 ? 104 : version == 3 ? 96 : 80;
  to.put(channels, static_cast<std::uint8_t>(plan.channels));
  to.put(channels + 1, std::uint8_t{16});  // warps
  if (version == 1) {
    to.put(106, static_cast<std::uint8_t>(plan.algorithm));
    to.put(107, static_cast<std::uint8_t>(plan.protocol));
  } else {
    to.put(channels + 8, algorithm_name(plan.algorithm));
    to.put(channels + 16, protocol_name(plan.protocol));
  }
}

}  // namespace

Description describe(int version, unsigned type, const void* parent, int rank) {
  Description description;
  // The seven bytes behind an eight-bit type are whatever they were.
  description.put(0, version <= 4 ? type | 0xabcdef00u : type);
  description.put(8, parent);
  description.put(16, rank);
  return description;
}

Description describe(int version, const Plan& plan, const Comm& comm, const void* call_handle,
                     const void* group_handle) {
  Description description = describe(version, plan.is_pair ? pair : collective,
                                     version >= 5 ? call_handle : group_handle, comm.rank);
  if (version <= 3) {
    description.put(24, "a communicator");
    description.put(32, comm.hash);
  }
  plan.is_pair ? put_pair(description, version, plan) : put_collective(description, version, plan);
  if (version >= 5) {
    description.put(plan.is_pair ? 64 : 104, group_handle);
  }
  return description;
}

}  // namespace simgpu::nccl::plugin
