#include "tests/sim/cudart/bodies.hpp"

// The exported functions of libcudart, made from cudart.def. ABSENT rows use none of their
// parameters.
#pragma GCC diagnostic ignored "-Wunused-parameter"

using simgpu::Call;
using simgpu::Function;
using simgpu::Library;
using simgpu::Variant;
namespace cudart = simgpu::cudart;

#define EXPORTED(symbol, name, variant, params, result)                                         \
  extern "C" __attribute__((visibility("default"))) cudaError_t symbol params {                 \
    Call call(                                                                                  \
        Function{Library::cudart, cudart::Number::name, #name, variant, cudart::cudart_major}); \
    return call.finish(                                                                         \
        cudart::keep(cudart::Number::name, cudart::run(call, [&] { return result; })));         \
  }

#define SIMULATED_PLAIN(name, params, args) \
  EXPORTED(name, name, Variant::plain, params, cudart::body_##name(call SIMGPU_AFTER args))
#define SIMULATED_STREAM(name, params, args)                      \
  SIMULATED_PLAIN(name, params, args)                             \
  EXPORTED(name##_ptsz, name, Variant::per_thread_stream, params, \
           cudart::body_##name(call SIMGPU_AFTER args))
#define SIMULATED_DEFAULT(name, params, args)                      \
  SIMULATED_PLAIN(name, params, args)                              \
  EXPORTED(name##_ptds, name, Variant::per_thread_default, params, \
           cudart::body_##name(call SIMGPU_AFTER args))
#define ABSENT_PLAIN(name, params, args) \
  EXPORTED(name, name, Variant::plain, params, cudaErrorNotSupported)
#define ABSENT_STREAM(name, params, args) \
  ABSENT_PLAIN(name, params, args)        \
  EXPORTED(name##_ptsz, name, Variant::per_thread_stream, params, cudaErrorNotSupported)
#define ABSENT_DEFAULT(name, params, args) \
  ABSENT_PLAIN(name, params, args)         \
  EXPORTED(name##_ptds, name, Variant::per_thread_default, params, cudaErrorNotSupported)

#include "tests/sim/cudart/cudart.def"
