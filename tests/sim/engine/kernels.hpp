#pragma once

#include <cstdint>
#include <string>

namespace simgpu {

/// A registered kernel; its address is its handle.
struct Kernel {
  std::string name;  // mangled, as registered
  const void* host_function = nullptr;
  std::int64_t duration_ns = 0;
  std::uint32_t registers = 0;  // per thread: made up from the name
};

namespace kernels {

Kernel* add(const void* host_function, const char* name);
/// By host function or by handle; nullptr when neither is known.
Kernel* find(const void* host_function_or_handle);
/// A handle that was given out, and nothing else.
bool is_handle(const void* handle);

}  // namespace kernels
}  // namespace simgpu
