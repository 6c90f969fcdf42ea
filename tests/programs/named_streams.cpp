// Names its streams, devices, contexts and threads with NVTX, as the word says:
//
//   named_streams all         every way of naming; a stream that goes and another in its place
//   named_streams names_only  names, and nothing of CUDA at all
//
// PAUSE_MS: how long it waits, after its first call of the device, for CUPTI to come on.
// Each stream runs a kernel of its own name.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtCuda.h>
#include <nvtx3/nvToolsExtCudaRt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>

#include "tests/programs/kernel.hpp"
#include "tools/demo_program/check.hpp"

namespace {

using traceagent::programs::Kernel;

const Kernel on_ascii("on_ascii");
const Kernel on_wide("on_wide");
const Kernel on_driver("on_driver");
const Kernel on_resource("on_resource");
const Kernel on_hostile("on_hostile");
const Kernel on_long("on_long");
const Kernel on_renamed("on_renamed");
const Kernel on_unnamed("on_unnamed");
const Kernel on_taken_away("on_taken_away");
const Kernel on_default("on_default");
const Kernel on_per_thread("on_per_thread");
const Kernel on_first("on_first");
const Kernel on_second("on_second");

std::uint32_t thread_id() { return static_cast<std::uint32_t>(syscall(SYS_gettid)); }

cudaStream_t new_stream() {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  return stream;
}

void name_as_resource(cudaStream_t stream) {
  const nvtxDomainHandle_t domain = nvtxDomainCreateA("streams");
  nvtxResourceAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_RESOURCE_ATTRIB_STRUCT_SIZE;
  attributes.identifierType = NVTX_RESOURCE_TYPE_CUDART_STREAM;
  attributes.identifier.pValue = stream;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "by resource");
  std::printf("resource %d\n", nvtxDomainResourceCreate(domain, &attributes) == nullptr);
}

// Before anything of CUDA was called, and with handles that are nobody's.
void name_what_is_not_there() {
  nvtxNameOsThreadA(thread_id(), "the main thread of it all");
  nvtxNameCudaDeviceA(0, "left \"GPU\"");
  nvtxNameCuDeviceW(1, L"right");
  nvtxNameCuContextA(reinterpret_cast<CUcontext>(0xc0ffee), "a context");
  nvtxNameCudaStreamA(reinterpret_cast<cudaStream_t>(0xdead), "nobody's");
  nvtxNameCudaStreamA(nullptr, "the default");
  nvtxNameCudaStreamA(cudaStreamPerThread, "each thread's own");
  nvtxNameCudaStreamA(reinterpret_cast<cudaStream_t>(0xbeef), nullptr);
}

struct Named {
  cudaStream_t stream;
  const Kernel& kernel;
};

void run_on(const Named& named) {
  named.kernel.launch(named.stream);
  CHECK(cudaStreamSynchronize(named.stream));
}

// Often enough the second has the first one's handle.
void replace_a_stream() {
  const cudaStream_t first = new_stream();
  nvtxNameCudaStreamA(first, "first of two");
  run_on({first, on_first});
  CHECK(cudaStreamDestroy(first));
  const cudaStream_t second = new_stream();
  run_on({second, on_second});
  CHECK(cudaDeviceSynchronize());
}

int everything() {
  name_what_is_not_there();
  const Named streams[] = {
      {new_stream(), on_ascii},
      {new_stream(), on_wide},
      {new_stream(), on_driver},
      {new_stream(), on_resource},
      {new_stream(), on_hostile},
      {new_stream(), on_long},
      {new_stream(), on_renamed},
      {new_stream(), on_unnamed},
      {new_stream(), on_taken_away},
      {nullptr, on_default},
      {cudaStreamPerThread, on_per_thread},
  };
  const char* pause_ms = std::getenv("PAUSE_MS");
  usleep(1000 * static_cast<unsigned>(std::atoi(pause_ms != nullptr ? pause_ms : "0")));
  nvtxNameCudaStreamA(streams[0].stream, "copies");
  nvtxNameCudaStreamW(streams[1].stream, L"b\u00e4ckw\u00e4rts \U0001f680");
  nvtxNameCuStreamA(streams[2].stream, "by driver");
  name_as_resource(streams[3].stream);
  nvtxNameCudaStreamA(streams[4].stream, "\"},{\\\n\t\x01\xff\xc3");
  nvtxNameCudaStreamA(streams[5].stream, std::string(5000, 'n').c_str());
  nvtxNameCudaStreamA(streams[6].stream, "old");
  nvtxNameCudaStreamA(streams[6].stream, "new");
  nvtxNameCudaStreamA(streams[8].stream, "taken away");
  nvtxNameCudaStreamA(streams[8].stream, "");
  for (const Named& named : streams) run_on(named);
  replace_a_stream();
  std::thread([] {
    nvtxNameOsThreadA(thread_id(), "a second thread");
    on_unnamed.launch(nullptr);
    CHECK(cudaDeviceSynchronize());
  }).join();
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "names_only") {
    name_what_is_not_there();
    return 3;
  }
  return everything();
}
