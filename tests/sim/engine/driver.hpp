#pragma once

#include <cstdint>

#include "tests/sim/engine/work.hpp"

/// The driver as the libraries above reach it, real and simulated: dlopen("libcuda.so.1"), dlsym
/// of cuGetProcAddress_v2, and through that everything else.
namespace simgpu::driver {

/// At every call of such a library: initialises the driver and takes the device's primary context,
/// where that is still to be done. Without libcuda.so.1 nothing happens.
void use(int device);

/// Gives work to a stream by cuLaunchKernel, or by cuLaunchKernelEx; the stream is what the program
/// passed. `call_number` is that of the call the work is due to. The driver's error; -1 without a
/// libcuda.so.1, where nothing was launched and `work` is as it was.
int launch_kernel(void* stream, bool per_thread, Work& work, std::uint64_t call_number);
int launch_kernel_ex(void* stream, Work& work, std::uint64_t call_number);

}  // namespace simgpu::driver
