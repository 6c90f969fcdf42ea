#pragma once

#include <climits>
#include <cstdlib>

#include "agent/event/fork_hold.hpp"

namespace traceagent::event {

// A path from the root, without links. In memory of its own: where a sanitizer's runtime lies
// behind libc, `realpath` is bound without a version, to glibc's oldest, which refuses to allocate
// it.
class WholePath {
 public:
  [[gnu::always_inline]] explicit WholePath(const char* path) noexcept {
    const ForkHold hold;
    is_known_ = realpath(path, text_) != nullptr;
  }

  // nullptr: there is none, and errno says why.
  const char* c_str() const noexcept { return is_known_ ? text_ : nullptr; }

 private:
  char text_[PATH_MAX];
  bool is_known_;
};

}  // namespace traceagent::event
