// The wrappers of libcuda. A driver call inside a call of libcudart that we see is part of that
// call; inside NCCL it is an event of its own, within NCCL's.

#include "agent/door/driver.hpp"

#include <cuda.h>

#include "agent/door/call.hpp"
#include "agent/door/driver_calls.hpp"
#include "agent/door/kernel_names.hpp"
#include "agent/door/targets.hpp"
#include "agent/door/wrappers.hpp"

namespace traceagent::door {
namespace {

template <class Describe, class Real>
CUresult take_part_driver(api::Function function, const Describe& describe, const Real& real) {
  using Call = decltype(describe());
  tell_watcher(describe);
  if (step::mode_of(Call::call_class) == step::Mode::unstarted) start_process();
  if (is_idle<Call>() || !driver_is_open.load(std::memory_order_relaxed)) return real();
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (ring::writer.nested_in_start != 0 || is_inside(ring::writer.cuda_frame, frame)) return real();
  const CudaFrame outermost(frame);
  // Step detection has been told of NCCL's call itself.
  const Told told = is_inside(ring::writer.nccl_frame, frame) ? Told::already : Told::now;
  return observe_and_record(function, describe(), real, told);
}

template <class Call>
[[gnu::always_inline]] inline bool takes_short_way_driver(const Call& call,
                                                          std::uintptr_t frame) noexcept {
  return (ring::writer.cuda_frame | ring::writer.nested_in_start) == 0 &&
         driver_is_open.load(std::memory_order_relaxed) &&
         !is_inside(ring::writer.nccl_frame, frame) && is_expected(call);
}

}  // namespace
}  // namespace traceagent::door

// Two functions or three, for the reason given in cudart.inc.
#define DRIVER_WRAPPER(id, symbol, parameters, arguments, ...)                                   \
  [[gnu::noinline]] static CUresult slow_##id parameters {                                       \
    using traceagent::api::Function;                                                             \
    using namespace traceagent::door;                                                            \
    using Real = CUresult(*) parameters;                                                         \
    const auto real = reinterpret_cast<Real>(real_function(Library::cuda, Function::id));        \
    if (real == nullptr) return CUDA_ERROR_NOT_FOUND;                                            \
    const auto describe = [&]() noexcept { return __VA_ARGS__; };                                \
    return take_part_driver(Function::id, describe, [&] { return real arguments; });             \
  }                                                                                              \
  [[maybe_unused, gnu::noinline]] static CUresult short_##id parameters {                        \
    using namespace traceagent::door;                                                            \
    using Real = CUresult(*) parameters;                                                         \
    const auto real = reinterpret_cast<Real>(                                                    \
        target(Library::cuda, traceagent::api::Function::id).load(std::memory_order_relaxed));   \
    const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));             \
    if (is_inside(traceagent::ring::writer.cuda_frame, frame)) return real arguments;            \
    if (takes_short_way_driver(__VA_ARGS__, frame)) [[likely]] {                                 \
      const OutermostCudaFrame outermost;                                                        \
      return real arguments;                                                                     \
    }                                                                                            \
    return slow_##id arguments;                                                                  \
  }                                                                                              \
  extern "C" [[gnu::visibility("default")]] CUresult traceagent_##id parameters __asm__(symbol); \
  CUresult traceagent_##id parameters {                                                          \
    using namespace traceagent::door;                                                            \
    using Real = CUresult(*) parameters;                                                         \
    const auto real = reinterpret_cast<Real>(                                                    \
        target(Library::cuda, traceagent::api::Function::id).load(std::memory_order_relaxed));   \
    if (is_idle<decltype(__VA_ARGS__)>() && real != nullptr) [[likely]] {                        \
      return real arguments;                                                                     \
    }                                                                                            \
    if (is_observed<decltype(__VA_ARGS__)>() && real != nullptr) return short_##id arguments;    \
    return slow_##id arguments;                                                                  \
  }

#define SUFFIX_v1
#define SUFFIX_v2 "_v2"
#define EACH_plain(id, symbol, ...) DRIVER_WRAPPER(id, symbol, __VA_ARGS__)
#define EACH_ptsz(id, symbol, ...)        \
  DRIVER_WRAPPER(id, symbol, __VA_ARGS__) \
  DRIVER_WRAPPER(id##_ptsz, symbol "_ptsz", __VA_ARGS__)
#define EACH_ptds(id, symbol, ...)        \
  DRIVER_WRAPPER(id, symbol, __VA_ARGS__) \
  DRIVER_WRAPPER(id##_ptds, symbol "_ptds", __VA_ARGS__)
#define DRIVER(name, abi, since, variant, parameters, arguments, ...) \
  EACH_##variant(name##_##abi, #name SUFFIX_##abi, parameters, arguments, __VA_ARGS__)
#include "agent/api/cuda_driver.def"
#undef DRIVER
#undef EACH_plain
#undef EACH_ptsz
#undef EACH_ptds

// The driver's kernels have no registration: their names are known to who asks for them.
#define ANNOUNCING(name, parameters, arguments, announce)                                       \
  extern "C"                                                                                    \
      [[gnu::visibility("default")]] CUresult traceagent_##name##_v1 parameters __asm__(#name); \
  CUresult traceagent_##name##_v1 parameters {                                                  \
    using namespace traceagent::door;                                                           \
    using Real = CUresult(*) parameters;                                                        \
    const auto real = reinterpret_cast<Real>(                                                   \
        real_function(Library::cuda, traceagent::api::Function::name##_v1));                    \
    if (real == nullptr) return CUDA_ERROR_NOT_FOUND;                                           \
    const CUresult result = real arguments;                                                     \
    if (result == CUDA_SUCCESS) announce;                                                       \
    return result;                                                                              \
  }

ANNOUNCING(cuModuleGetFunction, (CUfunction * function, CUmodule module, const char* name),
           (function, module, name), register_kernel_copied(*function, name))
ANNOUNCING(cuLibraryGetKernel, (CUkernel * kernel, CUlibrary library, const char* name),
           (kernel, library, name), register_kernel_copied(*kernel, name))
ANNOUNCING(cuKernelGetFunction, (CUfunction * function, CUkernel kernel), (function, kernel),
           alias_kernel(*function, kernel))

// Written out in driver_lookup.cpp.
extern "C" {
CUresult traceagent_cuGetProcAddress_v1(const char*, void**, int,
                                        cuuint64_t) __asm__("cuGetProcAddress");
CUresult traceagent_cuGetProcAddress_v2(
    const char*, void**, int, cuuint64_t,
    CUdriverProcAddressQueryResult*) __asm__("cuGetProcAddress_v2");
}

namespace traceagent::door {

std::span<const Wrapper> driver_wrappers() noexcept {
#define ROW(id) {api::Function::id, reinterpret_cast<void*>(&traceagent_##id)},
#define EACH_plain(id) ROW(id)
#define EACH_ptsz(id) ROW(id) ROW(id##_ptsz)
#define EACH_ptds(id) ROW(id) ROW(id##_ptds)
#define DRIVER(name, abi, since, variant, ...) EACH_##variant(name##_##abi)
#define DRIVER_ANNOUNCEMENT(name, abi, since) ROW(name##_##abi)
  static const Wrapper wrappers[] = {
#include "agent/api/cuda_driver.def"
#include "agent/api/driver_announcement.def"
  };
  return wrappers;
}

}  // namespace traceagent::door
