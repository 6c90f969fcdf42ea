#pragma once

#include <cstring>

#include "agent/event/fork_hold.hpp"

namespace traceagent::event {

// strerror(3), which may translate: libc's locale is locked meanwhile, for ever in a forked child.
inline const char* error_text(int error_number) noexcept {
  const ForkHold hold;
  return std::strerror(error_number);
}

}  // namespace traceagent::event
