// Preloaded behind the agent: whoever goes through the loader's list of objects in another thread
// than the main one takes long over it, as a thread does that has lost its processor meanwhile.
#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

namespace {

struct Walk {
  int (*callback)(dl_phdr_info*, std::size_t, void*);
  void* data;
  bool has_slept;
};

int visit(dl_phdr_info* object, std::size_t size, void* data) {
  auto& walk = *static_cast<Walk*>(data);
  constexpr useconds_t lost_us = 800'000;
  if (!walk.has_slept && syscall(SYS_gettid) != getpid()) usleep(lost_us);
  walk.has_slept = true;
  return walk.callback(object, size, walk.data);
}

}  // namespace

extern "C" [[gnu::visibility("default")]] int dl_iterate_phdr(int (*callback)(dl_phdr_info*,
                                                                              std::size_t, void*),
                                                              void* data) {
  static const auto real =
      reinterpret_cast<decltype(&dl_iterate_phdr)>(dlsym(RTLD_NEXT, "dl_iterate_phdr"));
  Walk walk{callback, data, false};
  return real(visit, &walk);
}
