// All of the library's calls of dl_iterate_phdr come here (--wrap), those of the libraries within
// it too.
#include <link.h>

#include <cstddef>

#include "agent/event/loader_lock.hpp"

extern "C" {

int dl_iterate_with_lock(int (*visit)(dl_phdr_info*, std::size_t, void*),
                         void* data) __asm__("__real_dl_iterate_phdr");
[[gnu::visibility("hidden")]] int dl_iterate(int (*visit)(dl_phdr_info*, std::size_t, void*),
                                             void* data) __asm__("__wrap_dl_iterate_phdr");

int dl_iterate(int (*visit)(dl_phdr_info*, std::size_t, void*), void* data) {
  if (traceagent::event::is_loader_stuck()) {
    return traceagent::event::visit_stuck_objects(visit, data);
  }
  return dl_iterate_with_lock(visit, data);
}
}
