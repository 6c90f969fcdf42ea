#include "agent/door/cu_init.hpp"

#include <cuda.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <utility>

#include "agent/device/cupti_yield.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/targets.hpp"
#include "agent/door/wrappers.hpp"

namespace traceagent::door {
namespace {

using CuInit = CUresult(unsigned);
using device::CuptiUse;

// Where the driver's own is not the one that the program links to (a tool that stands before it, a
// second libcuda): each has a guard of its own.
constexpr std::size_t guard_count = 4;
constinit std::array<std::atomic<CuInit*>, guard_count> guarded{};

CUresult answer(CuInit* real, unsigned flags) {
  if (flags == 0) {
    const CuptiUse use = device::use_of_cupti();
    if (use == CuptiUse::here) return CUDA_SUCCESS;
    // It cannot be initialised again; and the lock is a copy of the parent's.
    if (use == CuptiUse::in_parent) return CUDA_ERROR_NOT_INITIALIZED;
  }
  return real(flags);
}

template <std::size_t index>
CUresult guard(unsigned flags) {
  return answer(guarded[index].load(std::memory_order_relaxed), flags);
}

template <std::size_t... index>
constexpr std::array<CuInit*, guard_count> guards_of(std::index_sequence<index...>) {
  return {&guard<index>...};
}
constexpr std::array<CuInit*, guard_count> guards =
    guards_of(std::make_index_sequence<guard_count>{});

// A plugin may carry a stub of its own that opens libcuda, where only it is looked for.
CuInit* nearest_cu_init() noexcept {
  void* found = real_function(Library::cuda, api::Function::cuInit_v1);
  const int saved_errno = errno;
  if (found == nullptr) found = symbol_in_object("", "cuInit");
  errno = saved_errno;
  return reinterpret_cast<CuInit*>(found);
}

}  // namespace

void* guard_of_cu_init(void* real) noexcept {
  if (void* wrapper = wrapper_for_target(Library::cuda, api::Function::cuInit_v1, real)) {
    return wrapper;
  }
  if (is_ours(real)) return nullptr;
  auto* const function = reinterpret_cast<CuInit*>(real);
  for (std::size_t i = 0; i < guard_count; ++i) {
    CuInit* known = nullptr;
    if (guarded[i].compare_exchange_strong(known, function, std::memory_order_relaxed)) {
      keep_loaded(real);
      known = function;
    }
    if (known == function) return reinterpret_cast<void*>(guards[i]);
  }
  return nullptr;
}

bool must_guard_cu_init() noexcept { return device::use_of_cupti() != CuptiUse::nowhere; }

}  // namespace traceagent::door

// By which programs that are linked to libcuda find it.
extern "C" [[gnu::visibility("default")]] CUresult traceagent_cuInit_v1(unsigned) __asm__("cuInit");
CUresult traceagent_cuInit_v1(unsigned flags) {
  using namespace traceagent::door;
  CuInit* const real = nearest_cu_init();
  return real != nullptr ? answer(real, flags) : CUDA_ERROR_NOT_FOUND;
}
