#include "tests/sim/cudart/registration.hpp"

#include <map>
#include <mutex>
#include <set>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/engine/kernels.hpp"
#include "tests/sim/engine/memory.hpp"
#include "tests/sim/engine/misuse.hpp"

// What nvcc's code does before main. No truth is written: a program that uses no device leaves
// none.
namespace simgpu::cudart {
namespace {

struct Registered {
  std::mutex mutex;
  std::set<void**> binaries;
  std::map<const void*, Variable> variables;
};

Registered& registered() {
  static auto* instance = new Registered;
  return *instance;
}

void check_binary(void** handle, const char* function) {
  std::lock_guard lock(registered().mutex);
  if (!registered().binaries.contains(handle)) {
    misuse(function, "not a handle that __cudaRegisterFatBinary gave");
  }
}

void add_variable(const char* host, std::size_t bytes) {
  std::lock_guard lock(registered().mutex);
  registered().variables[host] = Variable{nullptr, bytes};
}

}  // namespace

const Variable* variable_of(const void* symbol) {
  std::lock_guard lock(registered().mutex);
  const auto found = registered().variables.find(symbol);
  if (found == registered().variables.end()) {
    return nullptr;
  }
  Variable& variable = found->second;
  if (variable.address == nullptr) {
    variable.address = memory::allocate(variable.bytes, memory::Kind::device, 0);
  }
  return &variable;
}

}  // namespace simgpu::cudart

#define EXPORT extern "C" __attribute__((visibility("default")))
using simgpu::cudart::registered;

EXPORT void** __cudaRegisterFatBinary(void* binary) {
  auto** handle = new void*(binary);
  std::lock_guard lock(registered().mutex);
  registered().binaries.insert(handle);
  return handle;
}

EXPORT void __cudaRegisterFatBinaryEnd(void** handle) {
  simgpu::cudart::check_binary(handle, "__cudaRegisterFatBinaryEnd");
}

EXPORT void __cudaUnregisterFatBinary(void** handle) {
  simgpu::cudart::check_binary(handle, "__cudaUnregisterFatBinary");
  std::lock_guard lock(registered().mutex);
  registered().binaries.erase(handle);
  delete handle;
}

EXPORT char __cudaInitModule(void** handle) {
  simgpu::cudart::check_binary(handle, "__cudaInitModule");
  return 1;
}

EXPORT void __cudaRegisterFunction(void** handle, const char* host_function, char*,
                                   const char* name, int, uint3*, uint3*, dim3*, dim3*, int*) {
  simgpu::cudart::check_binary(handle, "__cudaRegisterFunction");
  if (host_function == nullptr || name == nullptr) {
    simgpu::misuse("__cudaRegisterFunction", "no host function or no name");
  }
  simgpu::kernels::add(host_function, name);
}

EXPORT void __cudaRegisterVar(void** handle, char* host, char*, const char*, int, std::size_t bytes,
                              int, int) {
  simgpu::cudart::check_binary(handle, "__cudaRegisterVar");
  simgpu::cudart::add_variable(host, bytes);
}

EXPORT void __cudaRegisterHostVar(void** handle, const char*, char* host, std::size_t bytes) {
  simgpu::cudart::check_binary(handle, "__cudaRegisterHostVar");
  simgpu::cudart::add_variable(host, bytes);
}

EXPORT void __cudaRegisterManagedVar(void** handle, void** host, char*, const char*, int,
                                     std::size_t bytes, int, int) {
  simgpu::cudart::check_binary(handle, "__cudaRegisterManagedVar");
  *host = simgpu::memory::allocate(bytes, simgpu::memory::Kind::managed, 0);
}
