#include "agent/counters/nvml.hpp"

#include <dlfcn.h>

#include "agent/event/fork_hold.hpp"
#include "agent/event/loader_lock.hpp"

namespace traceagent::counters::nvml {
namespace {

constexpr const char* soname = "libnvidia-ml.so.1";

// A fork waits for it: the loader's lock, held by a thread that a child has not got, would be held
// there for ever.
void* open_library(const char* name, int mode) noexcept {
  const event::ForkHold hold;
  return event::is_loader_stuck() ? nullptr : dlopen(name, mode);
}

// The same of NVML's lock.
Result initialise(const Functions& functions) noexcept {
  const event::ForkHold hold;
  return functions.init();
}

}  // namespace

bool has_driver(LookUp look_up) noexcept {
  void* driver = open_library("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return false;
  using GetCount = int (*)(int*);
  const auto get_count = reinterpret_cast<GetCount>(look_up(driver, "cuDeviceGetCount"));
  int count = 0;
  const event::ForkHold hold;
  // The handle is kept, once for each time of asking: it is a number in the loader.
  return get_count != nullptr && get_count(&count) == 0 && count > 0;
}

Library open(LookUp look_up) {
  Library library;
  void* handle = open_library(soname, RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    library.problem = event::is_loader_stuck()
                          ? std::string(soname) + ": " + event::stuck_loader_in_words
                          : std::string("no ") + soname;
    return library;
  }
  Functions& functions = library.functions;
#define TRACEAGENT_BIND(member, symbol, parameters) \
  functions.member = reinterpret_cast<decltype(functions.member)>(look_up(handle, symbol));
  TRACEAGENT_NVML_FUNCTIONS(TRACEAGENT_BIND)
#undef TRACEAGENT_BIND
  if (functions.init == nullptr || functions.get_count == nullptr ||
      functions.get_device == nullptr) {
    library.problem = std::string(soname) + " lacks nvmlInit_v2: a newer driver";
  } else if (const Result result = initialise(functions); result != success) {
    library.problem = "nvmlInit_v2 fails with NVML error " + std::to_string(result);
  }
  return library;
}

}  // namespace traceagent::counters::nvml
