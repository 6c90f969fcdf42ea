// The library's constructor: almost nothing, since a Python or shell job starts hundreds of
// processes that never touch CUDA. It opens the doors that need a variable or a switch; all else
// waits for the first hooked call.

#include "agent/process/library.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "agent/door/dlsym.hpp"
#include "agent/door/injection.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/nccl_plugin.hpp"
#include "agent/door/nvtx.hpp"
#include "agent/door/start.hpp"
#include "agent/event/clock_anchor.hpp"
#include "agent/event/loader_lock.hpp"
#include "agent/event/whole_path.hpp"
#include "agent/process/command_at_load.hpp"
#include "agent/process/exit.hpp"
#include "agent/process/fork.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/thread_sanitizer.hpp"

namespace traceagent::process {
namespace {

bool is_off(const char* variable) noexcept {
  const char* value = std::getenv(variable);
  return value != nullptr && (std::strcmp(value, "false") == 0 || std::strcmp(value, "0") == 0 ||
                              std::strcmp(value, "no") == 0 || std::strcmp(value, "off") == 0);
}

// Said at the first hooked call, if there is one.
constinit const char* refused_offer = nullptr;

// "": not known, and no path either.
const char* own_name() noexcept {
  Dl_info self{};
  return dladdr(reinterpret_cast<const void*>(&own_name), &self) != 0 ? self.dli_fname : "";
}

// A user's own tool stays the tool.
void offer_to_nvtx() noexcept {
  static constexpr char variable[] = "NVTX_INJECTION64_PATH";
  if (std::getenv(variable) != nullptr) return;
  const event::WholePath path(own_name());
  if (path.c_str() == nullptr || setenv(variable, path.c_str(), 0) != 0) refused_offer = variable;
}

void offer_to_driver() noexcept {
  const event::WholePath path(own_name());
  if (path.c_str() != nullptr) door::offer_injection(path.c_str());
}

// False where we were loaded in the middle of a process's life: CUDA_INJECTION64_PATH and its like
// are inherited by children that shed the preload. Half of the doors would see nothing there, and
// the trace would say so of a job that asked for none. False too for a second copy of this library
// behind the first: whoever comes first has the names.
bool is_preloaded() noexcept {
  const auto look_up = door::true_dlsym();
  void* program = dlopen(nullptr, RTLD_LAZY);
  if (look_up == nullptr || program == nullptr) return true;
  bool found = false;
  // Of libc's names those that we export: ours where we are in front of libc. More than one, since
  // a tool that is in front of us may export some of them.
  for (const char* name : {"dlsym", "dlvsym", "_exit", "_Exit"}) {
    found = found || door::is_ours(look_up(program, name));
  }
  dlclose(program);
  dlerror();
  return found;
}

// glibc keeps its locks in the loader's data.
void look_for_loader_lock() noexcept {
  const auto look_up = door::true_dlsym();
  const void* const data = look_up != nullptr ? look_up(RTLD_DEFAULT, "_rtld_global") : nullptr;
  ElfW(Sym)* symbol = nullptr;
  Dl_info object{};
  if (data != nullptr &&
      dladdr1(data, &object, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) != 0 &&
      symbol != nullptr && object.dli_saddr == data) {
    event::learn_loader_lock(data, symbol->st_size);
  }
  dlerror();
}

void open_doors() noexcept {
  if (!is_preloaded()) {
    door::stay_out_of_look_ups();
    return stay_off();
  }
  look_for_loader_lock();
  // Else forks are watched from the first hooked call on.
  if (thread_sanitizer_ends_children()) static_cast<void>(watch_forks());
  look_at_error_output();
  const bool has_driver = !is_off("TRACEAGENT_DOORS_DRIVER");
  if (!has_driver || is_off("TRACEAGENT_ENABLED")) door::driver_is_open = false;
  // Now: the job may have other variables by its first call.
  if (is_off("TRACEAGENT_ENABLED")) return stay_off();
  door::open_dlsym_door(!is_off("TRACEAGENT_DOORS_DLSYM"));
  if (!is_off("TRACEAGENT_DOORS_NCCL_PLUGIN")) door::offer_nccl_plugin();
  if (!is_off("TRACEAGENT_DOORS_NVTX")) {
    door::open_nvtx_door(true);
    offer_to_nvtx();
  }
  // Where the dlsym door is open nobody needs it, and programs look at it: some take it for another
  // tool's, and all their children inherit it.
  const bool has_use = has_driver || !is_off("TRACEAGENT_DOORS_CUPTI");
  if (!door::dlsym_door_is_open() && has_use) offer_to_driver();
}

// glibc hands the program's arguments to constructors.
[[gnu::constructor]] void load(int count, char** arguments, char**) noexcept {
  // 0 when main begins: programs look at it behind strtol() without having set it.
  const int saved_errno = errno;
  event::note_load();
  keep_command(count, arguments);
  open_doors();
  errno = saved_errno;
}

}  // namespace

const char* variable_not_set() noexcept { return refused_offer; }

}  // namespace traceagent::process
