#pragma once

#include <nccl.h>

#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/driver.hpp"
#include "tests/sim/nccl/functions.hpp"

/// The simulated functions' bodies, one per row of nccl.def; wrappers.cpp exports them.
namespace simgpu::nccl {

#define BODY(name) ncclResult_t body_##name
#define SIMGPU_AFTER(...) __VA_OPT__(, ) __VA_ARGS__

#define NCCL(name, params, args) BODY(name)(Call & call SIMGPU_AFTER params);
#include "tests/sim/nccl/nccl.def"
#undef NCCL

/// Runs a body with what every call has in common: the script's errors, a forked child's refusal.
template <class Body>
ncclResult_t run(Call& call, Body body) {
  if (const auto injected = call.injected_error()) {
    return static_cast<ncclResult_t>(*injected);
  }
  if (forked_after_use()) {
    return ncclUnhandledCudaError;
  }
  driver::use(current_device());
  return body();
}

}  // namespace simgpu::nccl
