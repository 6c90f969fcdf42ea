#include "agent/ring/ring_copy.hpp"

#include <sys/stat.h>

#include "agent/ring/anchors.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::ring {
namespace {

bool are_one_file(const std::string& path, const std::string& other) noexcept {
  struct stat one {
  }, two{};
  return stat(path.c_str(), &one) == 0 && stat(other.c_str(), &two) == 0 &&
         one.st_dev == two.st_dev && one.st_ino == two.st_ino;
}

// What its process noted before all else: no two rings have it alike.
std::uint64_t first_anchor_ticks(const Header& header) noexcept {
  const auto anchors = anchors_in(header);
  return anchors.empty() ? 0 : anchors.front().ticks;
}

bool is_of_living(const Header& header) noexcept {
  return header.finished.load(std::memory_order_relaxed) == 0 && header.owner_namespace != 0 &&
         header.owner_namespace == namespace_of_host() &&
         process_lives(header.owner_pid, header.owner_start_time);
}

// A process that executed another program lives on, with another ring, maybe of this name.
bool is_its_ring(const std::string& path, const Header& copy) {
  OpenedRing opened = open_ring(path);
  const bool is_it = opened.ring.valid() && first_anchor_ticks(copy) != 0 &&
                     first_anchor_ticks(opened.ring.header()) == first_anchor_ticks(copy);
  close_ring(opened);
  return is_it;
}

}  // namespace

bool is_copy_of_living(const std::string& path) {
  OpenedRing opened = open_ring(path);
  bool is_copy = false;
  if (opened.ring.valid() && is_of_living(opened.ring.header())) {
    const Header& header = opened.ring.header();
    const std::string original = mapped_namesake(header.owner_pid, path);
    is_copy = !original.empty() && !are_one_file(path, original) && is_its_ring(original, header);
  }
  close_ring(opened);
  return is_copy;
}

}  // namespace traceagent::ring
