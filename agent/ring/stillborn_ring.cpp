#include "agent/ring/stillborn_ring.hpp"

#include <sys/stat.h>

#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::ring {
namespace {

bool is_unready(const OpenedRing& opened) noexcept {
  return opened.is_unmade ||
         (opened.ring.valid() && opened.ring.header().ready.load(std::memory_order_acquire) == 0);
}

// Where pids are others.
bool is_of_elsewhere(const OpenedRing& opened) noexcept {
  if (!opened.ring.valid()) return false;
  const std::uint64_t lockless_in = opened.ring.header().lockless_in;
  return lockless_in != 0 && lockless_in != pid_namespace();
}

}  // namespace

bool is_stillborn(const std::string& path, std::time_t now_s) {
  constexpr std::time_t longest_start_s = 10;
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0 || now_s - facts.st_ctime <= longest_start_s) return false;
  OpenedRing opened = open_ring(path);
  const bool may_live = opened.owner_alive || is_of_elsewhere(opened) || maker_lives(path);
  const bool is_without_records = is_unready(opened);
  close_ring(opened);
  return is_without_records && !may_live;
}

}  // namespace traceagent::ring
