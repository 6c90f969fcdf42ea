#include "tests/sim/engine/driver.hpp"

#include <dlfcn.h>

#include <utility>

#include "tests/sim/engine/prepared.hpp"

namespace simgpu::driver {
namespace {

// The driver's types, without its header: all handles are pointers, all enums are ints.
using GetProcAddress = int(const char*, void**, int, std::uint64_t, int*);
using Init = int(unsigned);
using RetainPrimaryContext = int(void**, int);
using LaunchKernel = int(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                         unsigned, void*, void**, void**);
struct LaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned shared_bytes;
  void* stream;
  void* attributes;
  unsigned attribute_count;
};
using LaunchKernelEx = int(const LaunchConfig*, const void*, void**, void**);

constexpr std::uint64_t legacy = 1;
constexpr std::uint64_t per_thread_streams = 2;

struct Functions {
  Init* init = nullptr;
  RetainPrimaryContext* retain = nullptr;
  LaunchKernel* launch = nullptr;
  LaunchKernel* launch_per_thread = nullptr;
  LaunchKernelEx* launch_ex = nullptr;
};

template <class Function>
void ask(GetProcAddress* look_up, Function*& into, const char* name, int version,
         std::uint64_t flags) {
  void* address = nullptr;
  int status = 0;
  if (look_up(name, &address, version, flags, &status) == 0) {
    into = reinterpret_cast<Function*>(address);
  }
}

Functions load() {
  Functions found;
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    return found;
  }
  auto* look_up = reinterpret_cast<GetProcAddress*>(dlsym(library, "cuGetProcAddress_v2"));
  if (look_up == nullptr) {
    return found;
  }
  // As the real libraries do: of cuGetProcAddress itself they ask again.
  ask(look_up, look_up, "cuGetProcAddress", 12000, legacy);
  ask(look_up, found.init, "cuInit", 2000, legacy);
  ask(look_up, found.retain, "cuDevicePrimaryCtxRetain", 7000, legacy);
  ask(look_up, found.launch, "cuLaunchKernel", 4000, legacy);
  ask(look_up, found.launch_per_thread, "cuLaunchKernel", 7000, per_thread_streams);
  ask(look_up, found.launch_ex, "cuLaunchKernelEx", 11060, legacy);
  if (found.init != nullptr && found.init(0) != 0) {
    return {};
  }
  return found;
}

const Functions& functions() {
  static const Functions found = load();
  return found;
}

}  // namespace

void use(int device) {
  static thread_local int used = -1;
  const Functions& driver = functions();
  if (device == used || driver.retain == nullptr) {
    return;
  }
  void* context = nullptr;
  driver.retain(&context, device);
  used = device;
}

int launch_kernel(void* stream, bool per_thread, Work& work, std::uint64_t call_number) {
  LaunchKernel* launch = per_thread ? functions().launch_per_thread : functions().launch;
  if (launch == nullptr) {
    return -1;
  }
  const auto& grid = work.grid;
  const auto& block = work.block;
  const LaunchConfig shape{{grid[0], grid[1], grid[2]},
                           {block[0], block[1], block[2]},
                           work.shared_bytes,
                           stream,
                           nullptr,
                           0};
  const void* kernel = prepared::add(std::move(work), call_number);
  return launch(kernel, shape.grid[0], shape.grid[1], shape.grid[2], shape.block[0], shape.block[1],
                shape.block[2], shape.shared_bytes, stream, nullptr, nullptr);
}

int launch_kernel_ex(void* stream, Work& work, std::uint64_t call_number) {
  LaunchKernelEx* launch = functions().launch_ex;
  if (launch == nullptr) {
    return -1;
  }
  const auto& grid = work.grid;
  const auto& block = work.block;
  const LaunchConfig config{{grid[0], grid[1], grid[2]},
                            {block[0], block[1], block[2]},
                            work.shared_bytes,
                            stream,
                            nullptr,
                            0};
  return launch(&config, prepared::add(std::move(work), call_number), nullptr, nullptr);
}

}  // namespace simgpu::driver
