#pragma once

namespace simgpu {

/// The calling thread's current device.
int current_device();
void set_current_device(int device);

}  // namespace simgpu
