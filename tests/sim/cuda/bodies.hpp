#pragma once

#include <cuda.h>

#include "tests/sim/cuda/functions.hpp"
#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/stream.hpp"

/// The simulated driver's bodies, one per row of cuda.def; wrappers.cpp exports them. cuda.h makes
/// macros of the functions' names, so that they are only pasted here.
namespace simgpu::cuda {

#define BODY(name, abi) CUresult body_##name##_##abi
#define SIMGPU_AFTER(...) __VA_OPT__(, ) __VA_ARGS__

#define SIMULATED(name, abi, since, variant, params, args) \
  CUresult body_##name##_##abi(Call& call SIMGPU_AFTER params);
#define QUESTION SIMULATED
#include "tests/sim/cuda/cuda.def"
#undef QUESTION
#undef SIMULATED

/// Before cuInit, everything but a few questions is refused.
bool is_initialised() noexcept;
bool is_allowed_before_init(std::uint16_t function) noexcept;

/// Runs a body with what every call has in common: the script's errors, a forked child's refusal.
template <class Body>
CUresult run(Call& call, std::uint16_t function, Body body) {
  if (const auto injected = call.injected_error()) {
    return static_cast<CUresult>(*injected);
  }
  if (forked_after_use() || (!is_initialised() && !is_allowed_before_init(function))) {
    return CUDA_ERROR_NOT_INITIALIZED;
  }
  return body();
}

/// What cuGetProcAddress answers; nullptr, and why, where there is none.
void* address_of(const char* name, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult& status);

/// The queue behind a handle, with the default streams resolved for this call; nullptr for a
/// handle that is no stream. Notes the handle in the call's record.
Stream* stream_of(Call& call, CUstream handle);

bool valid_device(int device);
/// Contexts are those of the devices, one each.
CUcontext context_of(int device);
void use_primary_context(int device);

}  // namespace simgpu::cuda
