#pragma once

#include <cuda.h>

#include <cstdint>

/// Context handles and CUPTI's numbers for them.
namespace simgpu::cupti {

/// Of the calling thread's device.
std::uint32_t current_context();
std::uint32_t current_device_id();

CUcontext handle_of_context(std::uint32_t context);
/// 0 for a handle that is no context.
std::uint32_t context_of_handle(CUcontext handle);

}  // namespace simgpu::cupti
