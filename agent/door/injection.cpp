#include "agent/door/injection.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "agent/door/dlsym.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/start.hpp"

namespace traceagent::door {
namespace {

constexpr char variable[] = "CUDA_INJECTION64_PATH";
// Not one of ours by its prefix: it is no option.
constexpr char users_variable[] = "CUDA_INJECTION64_PATH_BEFORE_TRACEAGENT";

// A name without a slash is looked for by the loader, and known to be there only when it is opened.
bool may_be_there(const char* library) noexcept {
  return std::strchr(library, '/') == nullptr || access(library, R_OK) == 0;
}

// Why the user's own tool is not there: the driver would have been the one to say so.
constinit char users_problem[512] = "";

using Initialize = int (*)();

Initialize users_initialize() noexcept {
  const char* library = std::getenv(users_variable);
  const auto look_up = true_dlsym();
  if (library == nullptr || *library == '\0' || look_up == nullptr) return nullptr;
  // Never closed, as the driver never closes it.
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* why = dlerror();
    std::snprintf(users_problem, sizeof users_problem,
                  "%s: %s: cannot be opened: %s: the job runs without this tool", variable, library,
                  why != nullptr ? why : "no reason is told");
  }
  void* found = handle != nullptr ? look_up(handle, "InitializeInjection") : nullptr;
  // Another copy of this library: there is nothing to chain to.
  return found != nullptr && !is_ours(found) ? reinterpret_cast<Initialize>(found) : nullptr;
}

// What theirs answers is what the driver is told; 1 is what tools answer when all is well. A copy
// of this library at another path may name us as its user's own.
int call_users() noexcept {
  constinit static std::atomic<bool> is_called{false};
  if (is_called.exchange(true, std::memory_order_acq_rel)) return 1;
  const Initialize initialize = users_initialize();
  return initialize != nullptr ? initialize() : 1;
}

}  // namespace

void offer_injection(const char* own_path) noexcept {
  const char* users = std::getenv(variable);
  if (users == nullptr || *users == '\0') {
    // What an ancestor's user had is not this one's.
    unsetenv(users_variable);
  } else if (std::strcmp(users, own_path) == 0 || !may_be_there(users)) {
    return;
  } else if (setenv(users_variable, users, 1) != 0) {
    return;
  }
  setenv(variable, own_path, 1);
}

}  // namespace traceagent::door

// Nothing of CUDA may be called here. Who comes through a door starts the agent with its first
// hooked call, and a process that merely counts its devices (a launcher whose network library asks
// for them) leaves nothing behind. With the dlsym door shut there may be no such call.
extern "C" [[gnu::visibility("default")]] int InitializeInjection() {
  using namespace traceagent::door;
  const int result = call_users();
  if (!dlsym_door_is_open()) start_in_injection(users_problem);
  return result;
}
