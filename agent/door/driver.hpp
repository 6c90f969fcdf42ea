#pragma once
// The driver door: launches inside cuBLAS, cuDNN, NCCL and Triton, and programs with a static
// cudart. All of them ask libcuda for cuGetProcAddress and that for everything else.

#include <cuda.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/api/function.hpp"

namespace traceagent::door {

// The row whose ABI cuGetProcAddress answers with; Function::none where that is not known: another
// name, a version before our oldest row or of a CUDA major that was not there when this was
// written, flags that we do not know.
api::Function driver_function(std::string_view name, int cuda_version, cuuint64_t flags) noexcept;

// The version from which on cuGetProcAddress answers with a row's ABI.
int since_version(api::Function function) noexcept;

// The newest version whose ABIs are all in the table. A newer minor version may have brought an ABI
// of its own.
inline constexpr int newest_known_version = 13000;
inline constexpr int first_unknown_major = 14000;

// Look-ups answered with a wrapper, and look-ups of hooked names that had to be let through: of a
// CUDA, an ABI or flags that we do not know, or of a second driver.
std::uint64_t driver_replaced() noexcept;
std::uint64_t driver_went_round() noexcept;
// At most eight of their names, with the version that was asked for: "cuMemAlloc at 2000".
std::string first_that_went_round();

}  // namespace traceagent::door
