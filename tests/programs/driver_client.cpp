// Plays a static cudart: finds the driver's functions as the word says, calls them and prints what
// each call returned. Linked to no library of CUDA's.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr cuuint64_t legacy = CU_GET_PROC_ADDRESS_LEGACY_STREAM;
constexpr cuuint64_t per_thread = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

using FirstForm = CUresult(const char*, void**, int, cuuint64_t);
using SecondForm = CUresult(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

void* driver() {
  static void* handle = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    std::printf("dlopen: %s\n", dlerror());
    std::exit(9);
  }
  return handle;
}

template <class Function>
Function* exported(const char* symbol) {
  return reinterpret_cast<Function*>(dlsym(driver(), symbol));
}

// Asks for a function by name; `symbol` is its exported name without the streams' suffix.
using Find = std::function<void*(const char* name, const char* symbol)>;

Find by_first_form(cuuint64_t flags) {
  auto* outer = exported<FirstForm>("cuGetProcAddress");
  void* inner = nullptr;
  if (outer("cuGetProcAddress", &inner, 11030, flags) != CUDA_SUCCESS) {
    std::exit(8);
  }
  return [=](const char* name, const char*) {
    void* found = nullptr;
    reinterpret_cast<FirstForm*>(inner)(name, &found, 11080, flags);
    return found;
  };
}

Find by_second_form(int version, cuuint64_t flags) {
  auto* outer = exported<SecondForm>("cuGetProcAddress_v2");
  void* inner = nullptr;
  CUdriverProcAddressQueryResult status;
  if (outer("cuGetProcAddress", &inner, 12000, flags, &status) != CUDA_SUCCESS) {
    std::exit(8);
  }
  return [=](const char* name, const char*) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult ignored;
    reinterpret_cast<SecondForm*>(inner)(name, &found, version, flags, &ignored);
    return found;
  };
}

void* by_symbol(const char*, const char* symbol) { return dlsym(driver(), symbol); }

// Calls by name and prints the result; errno must come through.
class Caller {
 public:
  explicit Caller(Find find) : find_(std::move(find)) {}

  template <class... Parameters, class... Arguments>
  CUresult call(CUresult (*)(Parameters...), const char* name, const char* symbol,
                Arguments... arguments) {
    void* found = find_(name, symbol);
    if (found == nullptr) {
      std::printf("%s not found\n", name);
      return CUDA_ERROR_NOT_FOUND;
    }
    errno = 77;
    const CUresult result =
        reinterpret_cast<CUresult (*)(Parameters...)>(found)(Parameters(arguments)...);
    std::printf("%s %d%s\n", name, result, errno == 77 ? "" : " errno");
    return result;
  }

 private:
  Find find_;
};

#define TEXT(name) #name
#define SYMBOL(name) TEXT(name)
// The type comes from cuda.h's declaration of the very function; nothing is linked to.
#define CALL(function, ...) \
  caller.call(static_cast<decltype(&function)>(nullptr), #function, SYMBOL(function), __VA_ARGS__)
#define CALL_WITHOUT_ARGUMENTS(function) \
  caller.call(static_cast<decltype(&function)>(nullptr), #function, SYMBOL(function))

struct Memory {
  CUdeviceptr first = 0, second = 0;
  void* host = nullptr;
  std::vector<char> pageable = std::vector<char>(4096, 7);
};

CUfunction kernel_of(Caller& caller) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CALL(cuModuleLoadData, &module, "image");
  std::string name = "_Z9my_kernelPfi";
  CALL(cuModuleGetFunction, &function, module, name.c_str());
  return function;
}

void launches(Caller& caller, CUfunction kernel, CUstream stream) {
  CALL(cuLaunchKernel, kernel, 2, 3, 4, 32, 2, 1, 1024, stream, nullptr, nullptr);
  CALL(cuLaunchKernel, kernel, 1, 1, 1, 64, 1, 1, 0, nullptr, nullptr, nullptr);
  CUlaunchConfig config{};
  config.gridDimX = 5;
  config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
  config.blockDimX = 96;
  config.hStream = stream;
  CALL(cuLaunchKernelEx, &config, kernel, nullptr, nullptr);
  CALL(cuLaunchCooperativeKernel, kernel, 6, 1, 1, 128, 1, 1, 0, stream, nullptr);
  // Refused: no threads.
  CALL(cuLaunchKernel, kernel, 1, 1, 1, 0, 1, 1, 0, stream, nullptr, nullptr);
}

void copies(Caller& caller, Memory& memory, CUstream stream) {
  CALL(cuMemcpyHtoD, memory.first, memory.pageable.data(), 4096);
  CALL(cuMemcpyHtoDAsync, memory.first, memory.host, 2048, stream);
  CALL(cuMemcpyDtoDAsync, memory.second, memory.first, 1024, stream);
  CALL(cuMemcpyDtoHAsync, memory.host, memory.second, 512, stream);
  CALL(cuMemcpyDtoH, memory.pageable.data(), memory.second, 256);
  CALL(cuMemcpyAsync, memory.second, memory.first, 128, stream);
  CUDA_MEMCPY2D box{};
  box.srcMemoryType = CU_MEMORYTYPE_HOST;
  box.srcHost = memory.host;
  box.srcPitch = 64;
  box.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = memory.first;
  box.dstPitch = 128;
  box.WidthInBytes = 32;
  box.Height = 8;
  CALL(cuMemcpy2DAsync, &box, stream);
  CALL(cuMemsetD8Async, memory.first, 1, 4096, stream);
  CALL(cuMemsetD32, memory.second, 0x01010101, 256);
}

void array_copies(Caller& caller, Memory& memory, CUstream stream) {
  CUDA_ARRAY_DESCRIPTOR wanted{};
  wanted.Width = 64;
  wanted.Height = 4;
  wanted.Format = CU_AD_FORMAT_FLOAT;
  wanted.NumChannels = 2;
  CUarray first = nullptr;
  CUarray second = nullptr;
  CALL(cuArrayCreate, &first, &wanted);
  CALL(cuArrayCreate, &second, &wanted);
  CALL(cuMemcpyHtoA, first, 8, memory.pageable.data(), 96);
  CALL(cuMemcpyHtoAAsync, first, 0, memory.host, 88, stream);
  CALL(cuMemcpyAtoA, second, 16, first, 8, 80);
  CALL(cuMemcpyDtoA, second, 0, memory.first, 72);
  CALL(cuMemcpyAtoD, memory.second, second, 16, 64);
  CALL(cuMemcpyAtoHAsync, memory.host, second, 8, 56, stream);
  CALL(cuMemcpyAtoH, memory.pageable.data(), second, 16, 48);
  CALL(cuArrayDestroy, first);
  CALL(cuArrayDestroy, second);
}

void stream_memory(Caller& caller, Memory& memory, CUstream stream) {
  CALL(cuStreamWriteValue32, stream, memory.first, 5, CU_STREAM_WRITE_VALUE_DEFAULT);
  CALL(cuStreamWriteValue32, stream, CUdeviceptr{64}, 5, CU_STREAM_WRITE_VALUE_DEFAULT);
}

void graph(Caller& caller, CUfunction kernel, CUstream stream) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CALL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
  CALL(cuLaunchKernel, kernel, 7, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
  CALL(cuStreamEndCapture, stream, &graph);
  CALL(cuGraphInstantiateWithFlags, &exec, graph, 0);
  CALL(cuGraphLaunch, exec, stream);
  CALL(cuGraphLaunch, exec, stream);
}

int everything(const Find& find) {
  Caller caller(find);
  CALL(cuInit, 0);
  Memory memory;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CALL(cuMemAlloc, &memory.first, 4096);
  CALL(cuMemAlloc, &memory.second, 4096);
  CALL(cuMemAllocHost, &memory.host, 4096);
  CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  CUfunction kernel = kernel_of(caller);
  launches(caller, kernel, stream);
  copies(caller, memory, stream);
  array_copies(caller, memory, stream);
  stream_memory(caller, memory, stream);
  graph(caller, kernel, stream);
  CALL(cuEventCreate, &event, 0);
  CALL(cuEventRecord, event, stream);
  CALL(cuEventSynchronize, event);
  CALL(cuStreamSynchronize, stream);
  CALL_WITHOUT_ARGUMENTS(cuCtxSynchronize);
  CALL(cuMemFree, memory.first);
  CALL(cuMemFree, memory.second);
  CALL(cuMemFreeHost, memory.host);
  CALL(cuMemFree, CUdeviceptr{64});
  return 3;
}

// What the agent cannot know: ABIs that are newer than it.
int future() {
  auto* look_up = exported<SecondForm>("cuGetProcAddress_v2");
  const auto find = [=](const char* name, int version) {
    void* found = nullptr;
    CUdriverProcAddressQueryResult status;
    std::printf("%s at %d: %d\n", name, version, look_up(name, &found, version, legacy, &status));
    return found;
  };
  Caller caller([=](const char* name, const char*) { return find(name, 12000); });
  CALL(cuInit, 0);
  CUdeviceptr memory = 0;
  CUfunction kernel = kernel_of(caller);
  using FutureLaunch = CUresult(CUfunction, unsigned, unsigned, CUstream);
  using FutureFree = CUresult(CUdeviceptr, unsigned);
  auto* launch = reinterpret_cast<FutureLaunch*>(find("cuLaunchKernel", 14000));
  auto* free = reinterpret_cast<FutureFree*>(find("cuMemFree", 13060));
  auto* same = reinterpret_cast<decltype(&cuMemsetD8)>(find("cuMemsetD8", 13060));
  CALL(cuMemAlloc, &memory, 4096);
  std::printf("launch %d\n", launch(kernel, 1, 32, nullptr));
  std::printf("set %d\n", same(memory, 1, 64));
  std::printf("free %d\n", free(memory, 0));
  return 3;
}

int unknown() {
  auto* second = exported<SecondForm>("cuGetProcAddress_v2");
  auto* first = exported<FirstForm>("cuGetProcAddress");
  for (const char* name : {"cuNoSuchFunction", "cuLaunchKernelEx", "cuMemAlloc", "cuInit"}) {
    for (const int version : {0, 3010, 11030, 14010}) {
      void* found = &found;
      CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
      const CUresult result = second(name, &found, version, legacy, &status);
      std::printf("%s %d: %d %d %s\n", name, version, result, status, found ? "found" : "null");
      std::printf("%d\n", first(name, &found, version, 8));
    }
  }
  std::printf("%d\n", second(nullptr, nullptr, 12000, legacy, nullptr));
  return 3;
}

// The same address each time: programs compare function pointers.
int same_address() {
  const Find find = by_second_form(12000, legacy);
  const Find again = by_second_form(12040, legacy);
  const Find threads = by_second_form(12000, per_thread);
  std::printf("%d\n", find("cuLaunchKernel", "") == again("cuLaunchKernel", "") ? 1 : 0);
  std::printf("%d\n", find("cuLaunchKernel", "") == threads("cuLaunchKernel", "") ? 1 : 0);
  std::printf("%d\n", find("cuMemAlloc", "") == threads("cuMemAlloc", "") ? 1 : 0);
  std::printf("%d\n", find("cuMemAlloc", "") == by_symbol("", "cuMemAlloc_v2") ? 1 : 0);
  return 3;
}

int only_init() {
  Caller caller(by_second_form(12000, legacy));
  CALL(cuInit, 0);
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  std::printf("%s\n", path != nullptr && std::string_view(path).ends_with("theirs.so")
                          ? "theirs"
                          : "not theirs");
  return 3;
}

// As ctypes does, and network libraries that are linked to libcuda.
int init_by_symbol() {
  std::printf("%d\n", exported<CUresult(unsigned)>("cuInit")(0));
  return 3;
}

// Whoever records from cuInit on has time to begin.
int pause_after_init() {
  exported<CUresult(unsigned)>("cuInit")(0);
  const char* pause_ms = std::getenv("PAUSE_MS");
  usleep(1000 * static_cast<unsigned>(std::atoi(pause_ms != nullptr ? pause_ms : "0")));
  return everything(by_symbol);
}

// As NVRTC does, long after the job's own first call, and each static libcudart.
int init_again() {
  const int code = everything(by_second_form(12080, legacy));
  std::printf("%d\n", exported<CUresult(unsigned)>("cuInit")(0));
  Caller caller(by_second_form(12080, legacy));
  CALL(cuInit, 0);
  CALL(cuInit, 1);
  return code;
}

// The plugin's own cuInit is the only one that is loaded, and not in sight.
int local_stub() {
  void* plugin = dlopen("libcu_init_stub.so", RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    return 9;
  }
  std::printf("%d\n", reinterpret_cast<int (*)()>(dlsym(plugin, "initialise"))());
  std::printf("%d\n", exported<CUresult(unsigned)>("cuInit")(0));
  return 3;
}

// A child has no CUDA, and is told so.
int init_in_child() {
  const int code = everything(by_second_form(12080, legacy));
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    _exit(exported<CUresult(unsigned)>("cuInit")(0) == CUDA_ERROR_NOT_INITIALIZED ? 5 : 6);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", WEXITSTATUS(status));
  return code;
}

struct Case {
  std::string_view word;
  int (*run)();
};
constexpr Case cases[] = {
    {"first", [] { return everything(by_first_form(legacy)); }},
    {"second", [] { return everything(by_second_form(12080, legacy)); }},
    {"default", [] { return everything(by_second_form(12090, CU_GET_PROC_ADDRESS_DEFAULT)); }},
    {"per_thread", [] { return everything(by_second_form(12080, per_thread)); }},
    {"symbols", [] { return everything(by_symbol); }},
    {"future", future},
    {"unknown", unknown},
    {"same_address", same_address},
    {"init", only_init},
    {"init_by_symbol", init_by_symbol},
    {"pause_after_init", pause_after_init},
    {"init_again", init_again},
    {"init_in_child", init_in_child},
    {"local_stub", local_stub},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Case& known : cases) {
    if (argc > 1 && known.word == argv[1]) {
      return known.run();
    }
  }
  return 2;
}
