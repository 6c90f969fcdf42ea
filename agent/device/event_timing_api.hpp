#pragma once
// The CUDA functions that event timing calls: those of the libcudart that the job itself has
// loaded. The door finds them; never our own wrappers.

#include <cuda_runtime_api.h>

namespace traceagent::device {

struct EventApi {
  // In the job's threads. They leave the thread's last error as it was.
  cudaError_t (*get_device)(int*);
  cudaError_t (*record)(cudaEvent_t, cudaStream_t);
  cudaError_t (*stream_is_capturing)(cudaStream_t, cudaStreamCaptureStatus*);
  cudaError_t (*stream_device)(cudaStream_t, int*);  // since CUDA 12.8; null before
  cudaError_t (*peek_error)();
  cudaError_t (*take_error)();

  // In the drain thread alone.
  cudaError_t (*set_device)(int);
  cudaError_t (*create_event)(cudaEvent_t*, unsigned);
  cudaError_t (*create_stream)(cudaStream_t*, unsigned);
  cudaError_t (*query)(cudaEvent_t);
  cudaError_t (*elapsed_ms)(float*, cudaEvent_t, cudaEvent_t);
  cudaError_t (*exchange_capture_mode)(cudaStreamCaptureMode*);
  // The driver's cuDevicePrimaryCtxGetState; null where no driver library is loaded.
  int (*context_state)(int device, unsigned* flags, int* active);
};

}  // namespace traceagent::device
