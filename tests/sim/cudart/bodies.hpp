#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "tests/sim/cudart/functions.hpp"
#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/driver.hpp"
#include "tests/sim/engine/stream.hpp"

/// The simulated functions' bodies, one per SIMULATED row of cudart.def; the exported wrappers
/// around them are in wrappers.cpp.
namespace simgpu::cudart {

/// Which CUDA this library plays: the one thing in which its builds differ.
extern const std::uint16_t cudart_major;

#define BODY(name) cudaError_t body_##name
#define SIMGPU_AFTER(...) __VA_OPT__(, ) __VA_ARGS__

#define SIMULATED_PLAIN(name, params, args) BODY(name)(Call & call SIMGPU_AFTER params);
#define SIMULATED_STREAM SIMULATED_PLAIN
#define SIMULATED_DEFAULT SIMULATED_PLAIN
#define ABSENT_PLAIN(...)
#define ABSENT_STREAM(...)
#define ABSENT_DEFAULT(...)
#include "tests/sim/cudart/cudart.def"
#undef SIMULATED_PLAIN
#undef SIMULATED_STREAM
#undef SIMULATED_DEFAULT
#undef ABSENT_PLAIN
#undef ABSENT_STREAM
#undef ABSENT_DEFAULT

/// Runs a body with what every call has in common: the script's errors, a forked child's refusal.
template <class Body>
cudaError_t run(Call& call, Body body) {
  if (const auto injected = call.injected_error()) {
    return static_cast<cudaError_t>(*injected);
  }
  if (forked_after_use()) {
    return cudaErrorInitializationError;
  }
  driver::use(current_device());
  return body();
}

/// Keeps the thread's last error, unless the function is one that asks for it.
cudaError_t keep(std::uint16_t function, cudaError_t error);

/// The queue behind a handle, with the default streams resolved for this call; nullptr for a
/// handle that is no stream. Notes the handle in the call's record.
Stream* stream_of(Call& call, cudaStream_t handle);

bool valid_device(int device);

}  // namespace simgpu::cudart
