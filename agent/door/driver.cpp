// The wrappers of libcuda. A driver call inside a call of libcudart that we see is part of that
// call; inside NCCL it is an event of its own, within NCCL's.

#include "agent/door/driver.hpp"

#include <cuda.h>

#include <tuple>

#include "agent/door/call.hpp"
#include "agent/door/driver_calls.hpp"
#include "agent/door/kernel_names.hpp"
#include "agent/door/targets.hpp"
#include "agent/door/wrappers.hpp"

#if defined(TRACEAGENT_WRAPPERS_JUMP) && !(defined(__OPTIMIZE__) && defined(__x86_64__))
#error "wrappers jump in optimized builds for x86-64 alone: leave TRACEAGENT_WRAPPERS_JUMP out"
#endif

namespace traceagent::door {
namespace {

template <class Describe, class Real>
CUresult take_part_driver(api::Function function, const Describe& describe, const Real& real,
                          const void* return_address) {
  using Call = decltype(describe());
  tell_watcher(describe);
  step::Mode mode = step::mode_of(Call::call_class);
  if (mode == step::Mode::unstarted) [[unlikely]] {
    start_process();
    mode = step::mode_of(Call::call_class);
  }
  if (is_idle<Call>(mode) || !driver_is_open.load(std::memory_order_relaxed) ||
      ring::writer.nested_in_start != 0) [[unlikely]] {
    return real();
  }
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (is_inside(ring::writer.cuda_frame, frame)) {
    if constexpr (can_be_expected<Call>) inner_launches.add(return_address);
    return real();
  }
  const CudaFrame outermost(frame);
  Told told = Told::now;
  if constexpr (can_be_expected<Call>) {
    // Where libcudart's call passed just before a window opened, or was made round our wrapper.
    if (inner_launches.has(return_address)) [[unlikely]] {
      told = Told::in_passing;
    }
  }
  if (is_inside(ring::writer.nccl_frame, frame)) [[unlikely]] {
    told = Told::by_nccl;
  }
  return observe_and_record(function, describe(), real, told);
}

// A launch within a call of libcudart's that passed, or one that step detection knew of itself.
template <class Call>
[[gnu::always_inline]] inline bool passes_straight_driver(Word launched,
                                                          const void* return_address) noexcept {
  if constexpr (!may_pass_straight<Call>) return false;
  if (inner_launches.has(return_address)) return true;
  return (ring::writer.cuda_frame | ring::writer.nccl_frame | ring::writer.nested_in_start) == 0 &&
         driver_is_open.load(std::memory_order_relaxed) && inner_launches.pass(launched);
}

}  // namespace
}  // namespace traceagent::door

// Two functions, for the reason given in cudart.inc, and a third where the call may be expected: it
// looks at where it returns to, which saves a register. They are jumped to, so all return to the
// same place; a build that calls instead (-O0, sanitizers) finds itself there, and gives up.
#define DRIVER_WRAPPER(id, symbol, parameters, arguments, ...)                                    \
  static auto call_of_##id parameters {                                                           \
    using namespace traceagent::door;                                                             \
    (void)std::tie arguments; /* most describe some of them alone */                              \
    return __VA_ARGS__;                                                                           \
  }                                                                                               \
  JUMPED_TO static CUresult slow_##id parameters {                                                \
    using traceagent::api::Function;                                                              \
    using namespace traceagent::door;                                                             \
    using Real = CUresult(*) parameters;                                                          \
    const auto real = reinterpret_cast<Real>(real_function(Library::cuda, Function::id));         \
    if (real == nullptr) return CUDA_ERROR_NOT_FOUND;                                             \
    const auto describe = [&]() noexcept { return call_of_##id arguments; };                      \
    return take_part_driver(                                                                      \
        Function::id, describe, [&] { return real arguments; }, __builtin_return_address(0));     \
  }                                                                                               \
  [[maybe_unused, gnu::noinline]] static CUresult short_##id JUMP_PARAMETERS(parameters) {        \
    using namespace traceagent::door;                                                             \
    using Call = Described<decltype(call_of_##id)>::Call;                                         \
    using Jump = CUresult(*) JUMP_PARAMETERS(parameters);                                         \
    if (passes_straight_driver<Call>(JUMP_LAUNCHED(call_of_##id), __builtin_return_address(0))) { \
      const Target& found = target(Library::cuda, traceagent::api::Function::id);                 \
      return reinterpret_cast<Jump>(found.load(std::memory_order_relaxed))                        \
          JUMP_ARGUMENTS(arguments);                                                              \
    }                                                                                             \
    return taken_as<Jump>(&slow_##id) JUMP_ARGUMENTS(arguments);                                  \
  }                                                                                               \
  extern "C" [[gnu::visibility("default")]] CUresult traceagent_##id JUMP_PARAMETERS(             \
      parameters) __asm__(symbol);                                                                \
  CUresult traceagent_##id JUMP_PARAMETERS(parameters) {                                          \
    using namespace traceagent::door;                                                             \
    using namespace traceagent::step;                                                             \
    using Call = Described<decltype(call_of_##id)>::Call;                                         \
    using Jump = CUresult(*) JUMP_PARAMETERS(parameters);                                         \
    const Target& found = target(Library::cuda, traceagent::api::Function::id);                   \
    const auto real = reinterpret_cast<Jump>(found.load(std::memory_order_relaxed));              \
    const Mode class_mode = mode_of(Call::call_class);                                            \
    if (real != nullptr) [[likely]] {                                                             \
      if (is_idle<Call>(class_mode)) [[likely]] {                                                 \
        return real JUMP_ARGUMENTS(arguments);                                                    \
      }                                                                                           \
      if (may_pass_straight<Call> && class_mode == Mode::observe) {                               \
        return short_##id JUMP_ARGUMENTS(arguments);                                              \
      }                                                                                           \
    }                                                                                             \
    return taken_as<Jump>(&slow_##id) JUMP_ARGUMENTS(arguments);                                  \
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

// Written out in cu_init.cpp.
extern "C" CUresult traceagent_cuInit_v1(unsigned) __asm__("cuInit");

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
