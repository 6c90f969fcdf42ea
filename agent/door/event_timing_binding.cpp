#include "agent/door/event_timing_binding.hpp"

#include <cerrno>

#include "agent/device/event_timing_slots.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {
namespace {

constexpr const char* cudart_sonames[] = {"libcudart.so.13", "libcudart.so.12",
                                          "libcudart.so.11.0"};

// Not by dlsym, which would give our own wrappers.
template <class Pointer>
bool bind(Pointer& pointer, const char* soname, const char* symbol) noexcept {
  void* found = symbol_in_object(soname, symbol);
  pointer = reinterpret_cast<Pointer>(found);
  if (found != nullptr) keep_loaded(found);
  return found != nullptr;
}

bool bind_all(device::EventApi& api, const char* soname) noexcept {
  bind(api.stream_device, soname, "cudaStreamGetDevice");
  bind(api.context_state, "libcuda.so.1", "cuDevicePrimaryCtxGetState");
  return bind(api.get_device, soname, "cudaGetDevice") &&
         bind(api.record, soname, "cudaEventRecord") &&
         bind(api.stream_is_capturing, soname, "cudaStreamIsCapturing") &&
         bind(api.peek_error, soname, "cudaPeekAtLastError") &&
         bind(api.take_error, soname, "cudaGetLastError") &&
         bind(api.set_device, soname, "cudaSetDevice") &&
         bind(api.create_event, soname, "cudaEventCreateWithFlags") &&
         bind(api.create_stream, soname, "cudaStreamCreateWithFlags") &&
         bind(api.query, soname, "cudaEventQuery") &&
         bind(api.elapsed_ms, soname, "cudaEventElapsedTime") &&
         bind(api.exchange_capture_mode, soname, "cudaThreadExchangeStreamCaptureMode");
}

}  // namespace

const device::EventApi* bind_event_api() noexcept {
  // Threads of the job may hold the pointer for ever; what it points to changes only once.
  static device::EventApi api{};
  static bool is_bound = false;
  for (const char* soname : cudart_sonames) {
    if (is_bound) break;
    is_bound = bind_all(api, soname);
  }
  return is_bound ? &api : nullptr;
}

void note_device_of_communicator() noexcept {
  using GetDevice = cudaError_t (*)(int*);
  using Error = cudaError_t (*)();
  const int saved_errno = errno;
  ++ring::writer.nested_in_start;
  for (const char* soname : cudart_sonames) {
    const auto get_device = reinterpret_cast<GetDevice>(symbol_in_object(soname, "cudaGetDevice"));
    const auto peek = reinterpret_cast<Error>(symbol_in_object(soname, "cudaPeekAtLastError"));
    if (get_device == nullptr || peek == nullptr) continue;
    int device = -1;
    // An error of ours would take the place of the one that the job has yet to read.
    if (peek() == cudaSuccess && get_device(&device) == cudaSuccess) device::want_device(device);
    break;
  }
  --ring::writer.nested_in_start;
  errno = saved_errno;
}

}  // namespace traceagent::door
