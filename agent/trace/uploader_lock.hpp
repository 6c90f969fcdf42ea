#pragma once
// Who is at work on a host's queue of uploads, also where the folder of the traces has no locks
// (NFS without lockd, Lustre without flock).

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "agent/event/hash.hpp"
#include "agent/trace/upload_journal.hpp"

namespace traceagent::trace {

// There this machine's memory has one: it keeps out others on this machine, as the queue is this
// host's. Empty where there is no such folder.
inline std::string memory_lock_path(const std::string& lock_path) {
  const std::size_t slash = lock_path.rfind('/');
  struct stat facts {};
  if (slash == std::string::npos || stat(lock_path.substr(0, slash).c_str(), &facts) != 0) {
    return {};
  }
  // However the folder is called here.
  return "/dev/shm/traceagent-upload-" + std::to_string(geteuid()) + "-" +
         std::to_string(facts.st_dev) + "-" + std::to_string(facts.st_ino) + "-" +
         std::to_string(event::hash_text(lock_path.substr(slash)));
}

inline Holder uploader_at_work(const std::string& lock_path) {
  const Holder holder = holder_of(lock_path);
  return holder == Holder::unknown ? holder_of(memory_lock_path(lock_path)) : holder;
}

}  // namespace traceagent::trace
