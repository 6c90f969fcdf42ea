#include "tests/sim/nccl/bodies.hpp"

#define EXPORT extern "C" __attribute__((visibility("default")))
#define WEAK extern "C" __attribute__((visibility("default"), weak

using simgpu::Call;
using simgpu::Function;
using simgpu::Library;
using simgpu::nccl::Number;

namespace {

constexpr const char* texts[] = {
    "no error",
    "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "internal error - please report this issue to the NCCL developers",
    "invalid argument (run with NCCL_DEBUG=WARN for details)",
    "invalid usage (run with NCCL_DEBUG=WARN for details)",
    "remote process exited or there was a network error",
    "NCCL operation in progress",
};

}  // namespace

EXPORT const char* pncclGetErrorString(ncclResult_t result) {
  Call call(Function{Library::nccl, Number::ncclGetErrorString, "ncclGetErrorString"});
  call.finish(0);
  return result >= 0 && result < ncclNumResults ? texts[result] : "unknown result code";
}

EXPORT const char* pncclGetLastError(ncclComm_t) {
  Call call(Function{Library::nccl, Number::ncclGetLastError, "ncclGetLastError"});
  call.finish(0);
  return "";
}

EXPORT void pncclResetDebugInit() {
  Call call(Function{Library::nccl, Number::ncclResetDebugInit, "ncclResetDebugInit"});
  call.finish(0);
}

WEAK, alias("pncclGetErrorString"))) const char* ncclGetErrorString(ncclResult_t result);
WEAK, alias("pncclGetLastError"))) const char* ncclGetLastError(ncclComm_t comm);
WEAK, alias("pncclResetDebugInit"))) void ncclResetDebugInit();
