// What hooking costs before anything is done: functions that look the real one up once and jump to
// it, in a library of their own. They stand for a preloaded library that does nothing.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <atomic>

extern "C" {
cudaError_t plainMalloc(void**, size_t);
cudaError_t plainLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
CUresult plainDriverLaunch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, CUstream, void**, void**);
ncclResult_t plainAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                            cudaStream_t);
}

namespace {

// As the agent's: read at each call, since it is found at run time.
template <class Function>
using Target = std::atomic<Function*>;

constinit Target<decltype(plainMalloc)> malloc_target{nullptr};
constinit Target<decltype(plainLaunchKernel)> launch_target{nullptr};
constinit Target<decltype(plainDriverLaunch)> driver_launch_target{nullptr};
constinit Target<decltype(plainAllReduce)> all_reduce_target{nullptr};

[[gnu::constructor]] void find_targets() {
  malloc_target = &plainMalloc;
  launch_target = &plainLaunchKernel;
  driver_launch_target = &plainDriverLaunch;
  all_reduce_target = &plainAllReduce;
}

}  // namespace

extern "C" {

cudaError_t forwardedMalloc(void** pointer, size_t bytes) {
  return malloc_target.load(std::memory_order_relaxed)(pointer, bytes);
}

cudaError_t forwardedLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                  size_t shared_bytes, cudaStream_t stream) {
  return launch_target.load(std::memory_order_relaxed)(function, grid, block, arguments,
                                                       shared_bytes, stream);
}

CUresult forwardedDriverLaunch(CUfunction function, unsigned grid_x, unsigned grid_y,
                               unsigned grid_z, unsigned block_x, unsigned block_y,
                               unsigned block_z, unsigned shared_bytes, CUstream stream,
                               void** parameters, void** extra) {
  return driver_launch_target.load(std::memory_order_relaxed)(
      function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters,
      extra);
}

ncclResult_t forwardedAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                                ncclRedOp_t operation, ncclComm_t communicator,
                                cudaStream_t stream) {
  return all_reduce_target.load(std::memory_order_relaxed)(send, receive, count, type, operation,
                                                           communicator, stream);
}
}
