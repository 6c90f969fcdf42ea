#include "agent/ring/unused_memory.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/ring/layout.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::ring {
namespace {

constexpr std::uint64_t page_bytes = 4096;

// A file system that cannot keeps what it has.
void make_hole(int fd, std::uint64_t from, std::uint64_t to) noexcept {
  from = (from + page_bytes - 1) / page_bytes * page_bytes;
  to = to / page_bytes * page_bytes;
  if (from >= to) return;
  fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
            static_cast<off_t>(to - from));
}

// By the number that all readers go by; one that cannot be read is somebody's. By a call: to look
// at a hole in the mapping would make it a page.
bool is_claimed(int fd, std::uint64_t chunk) noexcept {
  std::uint64_t number = 0;
  const auto at = static_cast<off_t>(chunk + offsetof(Chunk, claim_number));
  const ssize_t got = event::uninterrupted([&] { return pread(fd, &number, sizeof number, at); });
  return got != static_cast<ssize_t>(sizeof number) || number != 0;
}

void make_holes(int fd, const Header& header) noexcept {
  const std::uint64_t used = header.names_used.load(std::memory_order_relaxed);
  make_hole(fd, header.names_offset + std::min(used, header.names_bytes),
            header.names_offset + header.names_bytes);
  const std::uint64_t end = header.chunks_offset + header.chunk_count * chunk_bytes;
  std::uint64_t unclaimed = header.chunks_offset;  // from there up to `chunk`
  for (std::uint64_t chunk = unclaimed; chunk < end; chunk += chunk_bytes) {
    if (!is_claimed(fd, chunk)) continue;
    make_hole(fd, unclaimed, chunk);
    unclaimed = chunk + chunk_bytes;
  }
  make_hole(fd, unclaimed, end);
}

// A ring without a lock may be one of a process that has closed it, and lives where pids are
// others, or on another host: that would have holes under its feet, and no memory where the file
// system is full.
bool is_surely_dead(const OpenedRing& opened) noexcept {
  if (!opened.ring.valid() || opened.owner_alive) return false;
  const std::uint64_t made_in = opened.ring.header().owner_namespace;
  return made_in != 0 && made_in == namespace_of_host();
}

std::uint64_t bytes_of(const struct stat& facts) noexcept {
  return static_cast<std::uint64_t>(facts.st_blocks) * 512;
}

bool is_same(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

std::uint64_t give_back_unused(const std::string& ring_path) {
  struct stat before {};
  struct stat facts {};
  if (lstat(ring_path.c_str(), &before) != 0) return 0;
  const bool has_holes = bytes_of(before) < static_cast<std::uint64_t>(before.st_size);
  if (has_holes) return bytes_of(before);
  OpenedRing opened = open_ring(ring_path);
  const int fd =
      is_surely_dead(opened) ? event::open_high(ring_path.c_str(), O_RDWR | O_NOFOLLOW) : -1;
  if (fd >= 0 && fstat(fd, &facts) == 0 && is_same(before, facts)) {
    make_holes(fd, opened.ring.header());
    // Its age is that of its process's last sign.
    const timespec times[2] = {facts.st_atim, facts.st_mtim};
    futimens(fd, times);
    if (fstat(fd, &facts) == 0) before = facts;
  }
  if (fd >= 0) close(fd);
  close_ring(opened);
  return bytes_of(before);
}

}  // namespace traceagent::ring
