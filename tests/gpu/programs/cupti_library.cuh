#pragma once
// CUPTI without the agent: its functions by the names that the agent gives them, and buffers.
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>

#include "agent/device/cupti_functions.hpp"
#include "agent/device/cupti_records.hpp"

namespace gpu {

inline traceagent::device::CuptiFunctions cupti;
inline int (*finalize_cupti)() = nullptr;

// False where it cannot be opened.
inline bool open_cupti(const char* path) {
  void* const library = dlopen(path, RTLD_NOW);
  if (library == nullptr) return false;
#define BIND(member, symbol, parameters) \
  cupti.member = reinterpret_cast<decltype(cupti.member)>(dlsym(library, symbol));
  TRACEAGENT_CUPTI_FUNCTIONS(BIND)
#undef BIND
  finalize_cupti = reinterpret_cast<int (*)()>(dlsym(library, "cuptiFinalize"));
  return cupti.usable() && finalize_cupti != nullptr;
}

inline void request_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most) {
  *size = 4 << 20;
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, *size));
  *most = 0;
}

}  // namespace gpu
