#include "tests/sim/cupti/handles.hpp"

#include "tests/sim/engine/activity.hpp"
#include "tests/sim/engine/device.hpp"

namespace simgpu::cupti {

std::uint32_t current_context() { return activity::context_of(current_device()); }

std::uint32_t current_device_id() { return static_cast<std::uint32_t>(current_device()); }

CUcontext handle_of_context(std::uint32_t context) {
  return static_cast<CUcontext>(activity::context_handle(context));
}

std::uint32_t context_of_handle(CUcontext handle) { return activity::context_of_handle(handle); }

}  // namespace simgpu::cupti
