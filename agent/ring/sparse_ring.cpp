#include "agent/ring/sparse_ring.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "agent/event/error_text.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/ring/layout.hpp"

namespace traceagent::ring {
namespace {

class Extents {
 public:
  Extents(int fd, std::uint64_t end) noexcept : fd_(fd), end_(end) {}

  // Where data begins at or after `from`; the file's end where none does.
  [[nodiscard]] std::uint64_t data_from(std::uint64_t from) const noexcept {
    const off_t found = lseek(fd_, static_cast<off_t>(from), SEEK_DATA);
    if (found >= 0) return std::min(static_cast<std::uint64_t>(found), end_);
    // A file system that does not tell: all is data.
    return errno == ENXIO ? end_ : from;
  }

  // All data of [from, to) into memory of zeros, in which the file begins at `file`.
  [[nodiscard]] bool copy(std::uint64_t from, std::uint64_t to, std::byte* memory) const noexcept {
    for (std::uint64_t at = data_from(from); at < to; at = data_from(at)) {
      const std::uint64_t end = std::min(hole_from(at), to);
      if (!read_all(at, end, memory + (at - from))) return false;
      at = end;
    }
    return true;
  }

  [[nodiscard]] bool read_all(std::uint64_t at, std::uint64_t end, std::byte* to) const noexcept {
    while (at < end) {
      const ssize_t got =
          event::uninterrupted([&] { return pread(fd_, to, end - at, static_cast<off_t>(at)); });
      if (got == 0) errno = EIO;  // cut short since it was looked at
      if (got <= 0) return false;
      at += static_cast<std::uint64_t>(got);
      to += got;
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint64_t hole_from(std::uint64_t from) const noexcept {
    const off_t found = lseek(fd_, static_cast<off_t>(from), SEEK_HOLE);
    return found > static_cast<off_t>(from) ? static_cast<std::uint64_t>(found) : end_;
  }

  int fd_;
  std::uint64_t end_;
};

// One behind the other: their order is that of their claims. False where one cannot be read.
bool copy_claimed_chunks(const Extents& file, Header& header, std::byte* memory) noexcept {
  const std::uint64_t first = header.chunks_offset;
  const std::uint64_t end = first + header.chunk_count * chunk_bytes;
  std::uint64_t copied = 0;
  std::uint64_t at = first;
  while ((at = std::max(at, file.data_from(at))) < end) {
    const std::uint64_t begin = at - (at - first) % chunk_bytes;
    alignas(Chunk) std::byte head[offsetof(Chunk, records)];
    if (!file.read_all(begin, begin + sizeof head, head)) return false;
    std::uint64_t claim_number = 0;
    std::copy_n(head + offsetof(Chunk, claim_number), sizeof claim_number,
                reinterpret_cast<std::byte*>(&claim_number));
    at = begin + chunk_bytes;
    if (claim_number == 0) continue;
    if (!file.copy(begin, at, memory + first + copied * chunk_bytes)) return false;
    ++copied;
  }
  header.chunk_count = copied;
  return true;
}

bool has_holes(int fd) noexcept {
  constexpr blkcnt_t block_bytes = 512;
  struct stat facts {};
  return fd >= 0 && fstat(fd, &facts) == 0 && facts.st_blocks < facts.st_size / block_bytes;
}

// By the sizes that were checked: the file may be another one by now.
void take_sizes(Header& header, const Header& checked) noexcept {
  header.file_bytes = checked.file_bytes;
  header.names_offset = checked.names_offset;
  header.names_bytes = checked.names_bytes;
  header.chunks_offset = checked.chunks_offset;
  header.chunk_count = checked.chunk_count;
}

bool copy_ring(const Extents& file, const Header& checked, std::byte* memory) noexcept {
  auto& header = *reinterpret_cast<Header*>(memory);
  if (!file.copy(0, checked.chunks_offset, memory)) return false;
  take_sizes(header, checked);
  return copy_claimed_chunks(file, header, memory);
}

// nullptr: errno says why.
void* copy_without_holes(int fd, const Header& checked) noexcept {
  const std::uint64_t bytes = checked.file_bytes;
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  if (copy_ring({fd, bytes}, checked, static_cast<std::byte*>(memory))) return memory;
  const int read_errno = errno;
  munmap(memory, bytes);
  errno = read_errno;
  return nullptr;
}

}  // namespace

OpenedRing open_ring_to_recover(const std::string& path) {
  OpenedRing opened = open_ring(path);
  if (!opened.ring.valid() || opened.owner_alive) return opened;
  const int fd = event::open_high(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (has_holes(fd)) {
    void* const copy = copy_without_holes(fd, opened.ring.header());
    const int copy_errno = errno;
    close_ring(opened);
    if (copy != nullptr) opened.ring = Ring(copy);
    if (copy == nullptr) opened.problem = path + ": " + event::error_text(copy_errno);
  }
  if (fd >= 0) close(fd);
  return opened;
}

}  // namespace traceagent::ring
