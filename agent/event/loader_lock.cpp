#include "agent/event/loader_lock.hpp"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>

#include "agent/event/no_cancellation.hpp"

namespace traceagent::event {
namespace {

using Lock = pthread_mutex_t;

constinit std::atomic<const Lock*> loader_lock{nullptr};
constinit pid_t first_pid = 0;
constinit std::atomic<pid_t> stuck_pid{0};  // where it is known: nobody gives it back

int own_thread() noexcept { return static_cast<int>(syscall(SYS_gettid)); }

// Others' threads change them, in ways of their own.
int read(const int& field) noexcept { return *const_cast<const volatile int*>(&field); }

bool is_held_by(const Lock& lock, int thread) noexcept {
  return read(lock.__data.__owner) == thread && lock.__data.__count != 0 &&
         lock.__data.__kind == PTHREAD_MUTEX_RECURSIVE_NP;
}

struct Search {
  const char* data;
  std::size_t bytes;
  int thread;
  const Lock* held[4];  // the lock of dlopen too, where it is dlopen that loads us
  std::size_t count;
};

int look_for_held(dl_phdr_info*, std::size_t, void* data) noexcept {
  auto& search = *static_cast<Search*>(data);
  for (std::size_t at = 0; at + sizeof(Lock) <= search.bytes; at += alignof(Lock)) {
    const auto* lock = reinterpret_cast<const Lock*>(search.data + at);
    if (!is_held_by(*lock, search.thread)) continue;
    if (search.count < std::size(search.held)) search.held[search.count++] = lock;
  }
  return 1;
}

bool is_of_this_process(int thread) noexcept {
  return syscall(SYS_tgkill, getpid(), thread, 0) == 0 || errno != ESRCH;
}

// Who takes it or gives it back has both fields changed in a moment; a fork in between leaves them
// so for ever.
bool stays_without_owner(const Lock& lock) noexcept {
  const NoCancellation no_cancellation;
  constexpr timespec pause{0, 1'000'000};
  for (int i = 0; i < 20; ++i) {
    if (read(lock.__data.__lock) == 0 || read(lock.__data.__owner) != 0) return false;
    nanosleep(&pause, nullptr);
  }
  return true;
}

bool is_stuck(const Lock& lock) noexcept {
  if (read(lock.__data.__lock) == 0) return false;
  if (read(lock.__data.__owner) == 0 && stays_without_owner(lock)) return true;
  const int owner = read(lock.__data.__owner);
  // Twice: a thread may have given it back and ended before it was asked for.
  return owner != 0 && !is_of_this_process(owner) && read(lock.__data.__owner) == owner;
}

// Not what another thread was unloading when the process was forked.
bool is_mapped(const void* address) noexcept {
  const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const std::uintptr_t page = reinterpret_cast<std::uintptr_t>(address) & ~(page_bytes - 1);
  unsigned char is_resident = 0;
  return syscall(SYS_mincore, page, 1, &is_resident) == 0 || errno != ENOMEM;
}

// By the head that is mapped with each object. False where there is none.
bool describe(const link_map& object, dl_phdr_info& info) noexcept {
  Dl_info place{};
  if (!is_mapped(object.l_ld) || dladdr(object.l_ld, &place) == 0 || place.dli_fbase == nullptr)
    return false;
  const auto* head = static_cast<const ElfW(Ehdr)*>(place.dli_fbase);
  if (std::memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return false;
  info = {};
  info.dlpi_addr = object.l_addr;
  info.dlpi_name = object.l_name;
  info.dlpi_phdr = reinterpret_cast<const ElfW(Phdr)*>(static_cast<const char*>(place.dli_fbase) +
                                                       head->e_phoff);
  info.dlpi_phnum = head->e_phnum;
  return true;
}

}  // namespace

void learn_loader_lock(const void* data, std::size_t bytes) noexcept {
  Search search{static_cast<const char*>(data), bytes, own_thread(), {}, 0};
  dl_iterate_phdr(look_for_held, &search);
  const Lock* found = nullptr;
  for (std::size_t i = 0; i < search.count; ++i) {
    if (is_held_by(*search.held[i], search.thread)) continue;
    if (found != nullptr) return;
    found = search.held[i];
  }
  first_pid = getpid();
  loader_lock.store(found, std::memory_order_release);
}

bool is_loader_stuck() noexcept {
  const Lock* lock = loader_lock.load(std::memory_order_acquire);
  const pid_t own_pid = getpid();
  if (lock == nullptr || own_pid == first_pid) return false;
  if (stuck_pid.load(std::memory_order_relaxed) == own_pid) return true;
  const int saved_errno = errno;
  const bool stuck = is_stuck(*lock);
  errno = saved_errno;
  if (stuck) stuck_pid.store(own_pid, std::memory_order_relaxed);
  return stuck;
}

int visit_stuck_objects(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) noexcept {
  const int saved_errno = errno;
  for (const link_map* object = _r_debug.r_map; object != nullptr; object = object->l_next) {
    dl_phdr_info info;
    const bool is_described = describe(*object, info);
    errno = saved_errno;
    if (!is_described) continue;
    constexpr std::size_t described_bytes = offsetof(dl_phdr_info, dlpi_adds);
    if (const int result = visit(&info, described_bytes, data); result != 0) return result;
  }
  return 0;
}

}  // namespace traceagent::event
