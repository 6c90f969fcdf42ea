#pragma once

#include <cupti.h>

namespace simgpu::cupti {

/// Keeps what cuptiGetLastError says, and passes it on.
CUptiResult failed(CUptiResult result);

}  // namespace simgpu::cupti

#define SIMGPU_CUPTI(name) extern "C" __attribute__((visibility("default"))) CUptiResult name
