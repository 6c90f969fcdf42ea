#pragma once

#include "tests/sim/nccl/plugin_client.hpp"

namespace simgpu::nccl::plugin {

/// What NCCL's proxy thread tells of an operation, as far as `mask` asks for it: its kernel's first
/// channels and a network transfer of two steps, and, as where a proxy serves its node's other
/// processes, one whose parent is a handle of another process.
void tell_parts(Client& client, const Comm& comm, const Plan& plan, unsigned mask, void* handle);

}  // namespace simgpu::nccl::plugin
