#pragma once

#include <cstdint>

/// Numbers of the simulated NCCL functions, for truth records. Needs no NCCL header.
namespace simgpu::nccl {

#define NCCL(name, ...) name,
struct Number {
  enum : std::uint16_t {
#include "tests/sim/nccl/nccl.def"
    ncclGetErrorString,
    ncclGetLastError,
    ncclResetDebugInit,
    count
  };
};
#undef NCCL

/// The name of a function number, "?" for one out of range.
const char* function_name(std::uint16_t number);

}  // namespace simgpu::nccl
