#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "tests/sim/cuda/bodies.hpp"
#include "tests/sim/engine/activity.hpp"
#include "tests/sim/engine/misuse.hpp"

namespace simgpu::cuda {
namespace {

std::atomic<bool> initialised{false};
thread_local bool injecting = false;

// What the driver does for tools: the library is loaded within cuInit, whatever comes of it.
void load_injection() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr || *path == '\0') {
    return;
  }
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    return;
  }
  using Initialize = int (*)();
  if (const auto initialize = reinterpret_cast<Initialize>(dlsym(library, "InitializeInjection"))) {
    injecting = true;
    initialize();
    injecting = false;
  }
}

}  // namespace

bool is_initialised() noexcept {
  if (injecting) {
    misuse("InitializeInjection", "it calls the driver");
  }
  return initialised.load(std::memory_order_relaxed);
}

bool is_allowed_before_init(std::uint16_t function) noexcept {
  return function == Number::cuInit_v1 || function == Number::cuDriverGetVersion_v1 ||
         function == Number::cuGetProcAddress_v1 || function == Number::cuGetProcAddress_v2 ||
         function == Number::cuGetErrorName_v1;
}

BODY(cuInit, v1)(Call&, unsigned flags) {
  static std::once_flag once;
  if (flags != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // Seen with driver 580.159 and CUPTI 130001: it waits for a lock that nobody holds.
  if (activity::watched_late().load()) {
    misuse("cuInit", "it would never return: CUPTI was switched on in a context that was there");
  }
  std::call_once(once, [] {
    load_injection();
    initialised = true;
  });
  return CUDA_SUCCESS;
}

BODY(cuDriverGetVersion, v1)(Call&, int* version) {
  if (version == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *version = 13000;
  return CUDA_SUCCESS;
}

BODY(cuGetErrorName, v1)(Call&, CUresult error, const char** text) {
  if (text == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *text = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : "CUDA_ERROR_UNKNOWN";
  return CUDA_SUCCESS;
}

namespace {

CUresult look_up(const char* name, void** pointer, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || pointer == nullptr) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SUCCESS;
  *pointer = address_of(name, version, flags, found);
  if (status != nullptr) {
    *status = found;
  }
  return *pointer != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

BODY(cuGetProcAddress, v1)
(Call&, const char* name, void** pointer, int version, cuuint64_t flags) {
  return look_up(name, pointer, version, flags, nullptr);
}

BODY(cuGetProcAddress, v2)
(Call&, const char* name, void** pointer, int version, cuuint64_t flags,
 CUdriverProcAddressQueryResult* status) {
  return look_up(name, pointer, version, flags, status);
}

}  // namespace simgpu::cuda
