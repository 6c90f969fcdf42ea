#include "tests/sim/nccl/functions.hpp"

namespace simgpu::nccl {
namespace {

#define NCCL(name, ...) #name,
constexpr const char* names[] = {
#include "tests/sim/nccl/nccl.def"
    "ncclGetErrorString",
    "ncclGetLastError",
    "ncclResetDebugInit",
};

}  // namespace

const char* function_name(std::uint16_t number) {
  return number < Number::count ? names[number] : "?";
}

}  // namespace simgpu::nccl
