#include "tests/sim/nccl/bodies.hpp"

// As in the real library: pnccl* are the functions, nccl* weak aliases of them.
#define EXPORT extern "C" __attribute__((visibility("default")))
#define NCCL(name, params, args)                                                                   \
  EXPORT ncclResult_t p##name params {                                                             \
    simgpu::Call call(simgpu::Function{simgpu::Library::nccl, simgpu::nccl::Number::name, #name}); \
    return call.finish(simgpu::nccl::run(                                                          \
        call, [&] { return simgpu::nccl::body_##name(call SIMGPU_AFTER args); }));                 \
  }                                                                                                \
  extern "C" __attribute__((visibility("default"), weak, alias("p" #name)))                        \
  ncclResult_t name params;

#include "tests/sim/nccl/nccl.def"
