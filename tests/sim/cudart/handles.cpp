#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/timeline.hpp"

namespace simgpu::cudart {

Stream* stream_of(Call& call, cudaStream_t handle) {
  Timeline& timeline = Timeline::get();
  const int device = current_device();
  call.args().stream = reinterpret_cast<std::uint64_t>(handle);
  Stream* stream = nullptr;
  if (handle == cudaStreamPerThread || (handle == nullptr && call.per_thread())) {
    stream = timeline.thread_stream(device);
  } else if (handle == nullptr || handle == cudaStreamLegacy) {
    stream = timeline.legacy_stream(device);
  } else if (timeline.is_stream(reinterpret_cast<Stream*>(handle))) {
    stream = reinterpret_cast<Stream*>(handle);
  }
  if (stream != nullptr) {
    call.args().stream_id = stream->id;
    call.args().device = stream->device;
  }
  return stream;
}

bool valid_device(int device) { return device >= 0 && device < script().devices; }

}  // namespace simgpu::cudart
