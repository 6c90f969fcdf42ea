#pragma once
// From the handle that a launch carries to the kernel's name in the ring.

#include <cstdint>

namespace traceagent::door {

// A compiler's registration: `function` (host stub or kernel handle) runs the kernel `name`, which
// lives until its `module` is forgotten (null: for ever). Any thread; never blocks.
void register_kernel(const void* function, const char* name, const void* module = nullptr) noexcept;
// A library is being closed, and with it go its kernels' names.
void forget_kernels(const void* module) noexcept;
// The same for a name that does not live: it is copied. Beyond some megabytes of different names,
// or a million registrations, the kernel is unknown and counted (names_full).
void register_kernel_copied(const void* function, const char* name) noexcept;
// `handle` is another way to say `function`.
void alias_kernel(const void* handle, const void* function) noexcept;

// Offset of the kernel's name in this process's ring; 0: unknown.
std::uint32_t kernel_name(const void* function) noexcept;

// A new ring: the offsets of the old one mean nothing.
void forget_kernel_offsets() noexcept;

}  // namespace traceagent::door
