#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tests/sim/nccl/plan.hpp"

/// What NCCL hands to a profiler plugin for each event, byte by byte, versions 1 to 6. Written from
/// the offsets alone, so that an agent that reads it by structures is checked against them.
namespace simgpu::nccl::plugin {

struct Description {
  alignas(8) unsigned char bytes[192] = {};

  template <class Value>
  void put(std::size_t offset, Value value) {
    std::memcpy(bytes + offset, &value, sizeof value);
  }
};

enum Type : unsigned {
  group = 1,
  collective = 2,
  pair = 4,
  proxy_op = 8,
  proxy_step = 16,
  kernel_channel = 64,
  network = 128,
  group_call = 256,
  collective_call = 512,
  pair_call = 1024,
};

/// Type, parent, rank.
Description describe(int version, unsigned type, const void* parent, int rank);
/// A collective, send or receive. `group_handle` is the second parent of versions 5 and 6, and the
/// only one of the others.
Description describe(int version, const Plan& plan, const Comm& comm, const void* call_handle,
                     const void* group_handle);

}  // namespace simgpu::nccl::plugin
