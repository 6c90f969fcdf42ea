#include "tests/sim/engine/kernels.hpp"

#include <cxxabi.h>

#include <cstdlib>
#include <map>
#include <mutex>
#include <set>

#include "tests/sim/engine/script.hpp"

namespace simgpu::kernels {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<const void*, Kernel*> by_host_function;
  std::set<const void*> handles;
};

Registry& registry() {
  static auto* instance = new Registry;
  return *instance;
}

std::string demangled(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  const std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

// Equal in every process, and rarely equal for two kernels.
std::uint32_t registers_of(const std::string& name) {
  std::uint32_t hash = 2166136261U;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619U;
  }
  return 16 + hash % 30 * 8;
}

}  // namespace

Kernel* add(const void* host_function, const char* name) {
  auto* kernel = new Kernel;
  kernel->name = name;
  kernel->host_function = host_function;
  kernel->registers = registers_of(kernel->name);
  kernel->duration_ns = -1;  // asked for at the first launch: registering must read no script
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  all.by_host_function[host_function] = kernel;
  all.handles.insert(kernel);
  return kernel;
}

Kernel* find(const void* key) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  Kernel* kernel = nullptr;
  if (const auto found = all.by_host_function.find(key); found != all.by_host_function.end()) {
    kernel = found->second;
  } else if (all.handles.contains(key)) {
    kernel = static_cast<Kernel*>(const_cast<void*>(key));
  }
  if (kernel != nullptr && kernel->duration_ns < 0) {
    kernel->duration_ns = script().kernel_duration_ns(demangled(kernel->name));
  }
  return kernel;
}

bool is_handle(const void* handle) {
  Registry& all = registry();
  std::lock_guard lock(all.mutex);
  return all.handles.contains(handle);
}

}  // namespace simgpu::kernels
