#include "agent/device/cupti_library.hpp"

#include <dlfcn.h>

#include "agent/event/fork_hold.hpp"
#include "agent/event/loader_lock.hpp"

namespace traceagent::device {
namespace {

CuptiLibrary bound_to(void* handle, LookUp look_up, const std::string& path) {
  CuptiLibrary library;
  CuptiFunctions& functions = library.functions;
#define TRACEAGENT_BIND(member, symbol, parameters) \
  functions.member = reinterpret_cast<decltype(functions.member)>(look_up(handle, symbol));
  TRACEAGENT_CUPTI_FUNCTIONS(TRACEAGENT_BIND)
#undef TRACEAGENT_BIND
  if (!functions.usable()) return {};
  if (functions.get_version != nullptr) functions.get_version(&library.version);
  library.path = path;
  return library;
}

void* open_loaded(const std::vector<int>& majors, std::string& found) {
  for (const int major : majors) {
    for (const std::string& name : cupti_names(major)) {
      found = name;
      const event::ForkHold hold;
      if (void* handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
    }
  }
  return nullptr;
}

}  // namespace

CuptiLibrary open_cupti(LookUp look_up, int driver_major) {
  const std::vector<std::string> loaded = loaded_paths();
  std::string found;
  if (event::is_loader_stuck()) return {};  // to open a library would take its lock
  if (void* handle = open_loaded(cuda_majors(loaded, driver_major), found)) {
    return bound_to(handle, look_up, found);
  }
  for (const std::string& candidate : cupti_candidates(loaded, driver_major)) {
    // Never closed again: its threads and our callbacks outlive any window. The loader has the
    // lowest free descriptor for a moment; a job with one thread is waiting for us meanwhile, in
    // its first call of a device, and threads that open files at once cannot know their numbers
    // anyway.
    const event::ForkHold hold;
    if (void* handle = dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      CuptiLibrary library = bound_to(handle, look_up, candidate);
      if (!library.path.empty()) return library;
    }
  }
  return {};
}

}  // namespace traceagent::device
