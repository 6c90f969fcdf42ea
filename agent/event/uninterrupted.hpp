#pragma once

#include <cerrno>

namespace traceagent::event {

// Again as long as a signal of the job cuts it short: file systems that answer slowly (NFS, FUSE)
// let signals interrupt even open(). `call` returns -1 and sets errno.
template <class Call>
auto uninterrupted(Call call) noexcept {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

}  // namespace traceagent::event
