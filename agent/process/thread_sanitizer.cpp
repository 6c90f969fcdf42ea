#include "agent/process/thread_sanitizer.hpp"

#include <cstdlib>
#include <cstring>

// The runtime's own, where the job has one; else null.
extern "C" [[gnu::weak]] void __tsan_init();

namespace traceagent::process {

bool thread_sanitizer_ends_children() noexcept {
  if (&__tsan_init == nullptr) return false;
  const char* const options = std::getenv("TSAN_OPTIONS");
  return options == nullptr || std::strstr(options, "die_after_fork=0") == nullptr;
}

}  // namespace traceagent::process
