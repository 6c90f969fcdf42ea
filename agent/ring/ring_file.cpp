#include "agent/ring/ring_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "agent/event/error_text.hpp"
#include "agent/event/high_descriptor.hpp"
#include "agent/event/ticks.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::ring {
namespace {

constexpr std::uint64_t smallest_ring_bytes = 256 * 1024;

// POSIX record locks belong to the process: not inherited by fork (flock's would live on in a
// forked data loader and make a dead rank look alive), released by the kernel at death.
bool lock_whole_file(int fd) noexcept {
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return fcntl(fd, F_SETLK, &lock) == 0;
}

// NCCL and data loaders live from /dev/shm too, and die where it is full; all that a container has
// by default is 64 MiB. So a ring takes a part of what is free, and rings leave a part of the
// whole, also those that a job leaves which is killed and started again and again.
constexpr std::uint64_t ring_of_free = 32;
constexpr std::uint64_t left_of_all = 4;
constexpr std::uint64_t most_left_bytes = std::uint64_t{1} << 30;

// Growing a file beyond the job's own limit (ulimit -f) would end the job with SIGXFSZ.
bool is_within_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
}

// Of an address space that is limited (ulimit -v) the job lacks what a ring takes: an eighth of
// what is left at most.
std::uint64_t within_memory_limit(std::uint64_t bytes) noexcept {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return bytes;
  char text[64] = {};
  const int fd = event::open_high("/proc/self/statm", O_RDONLY);
  if (fd >= 0) {
    const ssize_t got = event::uninterrupted([&] { return read(fd, text, sizeof text - 1); });
    if (got < 0) text[0] = '\0';
    close(fd);
  }
  const auto page_bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t used_bytes = std::strtoull(text, nullptr, 10) * page_bytes;
  const std::uint64_t left_bytes =
      limit.rlim_cur - std::min<std::uint64_t>(used_bytes, limit.rlim_cur);
  while (bytes > left_bytes / 8 && bytes / 2 >= smallest_ring_bytes) bytes /= 2;
  return bytes;
}

std::uint64_t bytes_left_to_others(const struct statvfs& space) noexcept {
  return std::min(std::uint64_t{space.f_blocks} * space.f_frsize / left_of_all, most_left_bytes);
}

std::uint64_t within_free_space(int fd, std::uint64_t bytes) noexcept {
  struct statvfs space {};
  return fstatvfs(fd, &space) == 0 ? bytes_for_ring(space, bytes) : bytes;
}

// Of many that begin at once each sees what all may take.
bool leaves_room(int fd) noexcept {
  struct statvfs space {};
  return fstatvfs(fd, &space) != 0 ||
         std::uint64_t{space.f_bavail} * space.f_frsize >= bytes_left_to_others(space);
}

bool grant(int fd, std::uint64_t bytes) noexcept {
  int result = is_within_limit(bytes) ? 0 : EFBIG;
  if (result == 0) {
    do {
      result = posix_fallocate(fd, 0, static_cast<off_t>(bytes));
    } while (result == EINTR);
    if (result == 0 && !leaves_room(fd)) result = ENOSPC;
  }
  errno = result;
  return result == 0;
}

// Returns the mapping, or nullptr when the bytes were not granted. The file is empty again then, or
// `is_spoilt`: a ring must fill its file, so that no smaller one may be made in it.
void* grant_and_map(int fd, const Sizes& sizes, bool& is_spoilt) noexcept {
  void* memory = MAP_FAILED;
  if (grant(fd, sizes.file_bytes)) {
    memory = mmap(nullptr, sizes.file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  if (memory != MAP_FAILED) return memory;
  const int saved_errno = errno;
  is_spoilt = event::uninterrupted([fd] { return ftruncate(fd, 0); }) != 0;
  errno = saved_errno;
  return nullptr;
}

std::string shrink_remedy(int refused_errno) {
  if (refused_errno == EFBIG) return "raise the limit of file sizes (ulimit -f)";
  if (refused_errno == 0) return "raise the limit of memory (ulimit -v)";
  return "enlarge /dev/shm (docker: --shm-size) or set TRACEAGENT_RING_FOLDER";
}

bool map_what_is_granted(CreatedRing& created, std::uint64_t wanted_bytes) {
  const std::uint64_t limited_bytes = within_memory_limit(wanted_bytes);
  const std::uint64_t most_bytes = within_free_space(created.fd, limited_bytes);
  // Where less is asked for than wanted the file system has no more for a ring.
  int refused_errno = most_bytes < limited_bytes ? ENOSPC : 0;
  bool is_spoilt = false;
  for (std::uint64_t bytes = most_bytes; bytes >= smallest_ring_bytes && !is_spoilt; bytes /= 2) {
    const Sizes sizes = divide(bytes);
    if (void* memory = grant_and_map(created.fd, sizes, is_spoilt)) {
      created.ring = format(memory, sizes);
      if (bytes != wanted_bytes) {
        created.problem = "ring.size: " + created.path + ": only " +
                          std::to_string(sizes.file_bytes >> 10) +
                          " KiB were granted: " + shrink_remedy(refused_errno);
      }
      return true;
    }
    refused_errno = errno;
  }
  errno = refused_errno;
  return false;
}

void note_lockless(const Ring& ring) noexcept {
  ring.header().lockless_in = std::max<std::uint64_t>(pid_namespace(), 1);
}

// Where the job may not have numbers that high (ulimit -n), it keeps them all: the mapping shows
// too that the ring's owner lives.
void give_back_low(CreatedRing& created) noexcept {
  if (created.fd < 0 || created.fd >= event::lowest_high_descriptor) return;
  note_lockless(created.ring);
  close(created.fd);
  created.fd = -1;
}

std::string describe_errno(int error) { return event::error_text(error); }

constexpr char not_a_ring[] = "not a ring of traceagent: see traceagent recover --list";

std::string check_header(const Header& header, std::uint64_t file_bytes) {
  if (header.magic != magic) return not_a_ring;
  if (header.layout_version != layout_version) {
    return "written in ring layout " + std::to_string(header.layout_version) +
           ", this program reads layout " + std::to_string(layout_version) +
           ": use the traceagent of the version that wrote it";
  }
  const std::uint64_t names_end = header.names_offset + header.names_bytes;
  const bool consistent = header.file_bytes == file_bytes &&
                          header.names_offset >= sizeof(Header) &&
                          header.names_offset <= file_bytes && header.names_bytes <= file_bytes &&
                          header.chunks_offset >= names_end && header.chunks_offset <= file_bytes &&
                          header.chunks_offset % alignof(Chunk) == 0 &&
                          header.chunk_count == (file_bytes - header.chunks_offset) / chunk_bytes;
  return consistent ? "" : "its header contradicts its size: the file is damaged";
}

// Memory of this process alone. A memfd, so that core dumps need not hold it; where files may not
// be that large plain memory, which no limit of file sizes concerns.
bool map_private(CreatedRing& created, std::uint64_t wanted_bytes) {
  created.fd = event::off_low_numbers(memfd_create("traceagent-ring", MFD_CLOEXEC));
  if (created.fd >= 0) {
    if (map_what_is_granted(created, wanted_bytes)) {
      give_back_low(created);
      return true;
    }
    close(created.fd);
    created.fd = -1;
  }
  const Sizes sizes = divide(within_memory_limit(wanted_bytes));
  void* memory = mmap(nullptr, sizes.file_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  created.ring = format(memory, sizes);
  return true;
}

}  // namespace

namespace {

void make_ring(CreatedRing& created, const std::string& path, std::uint64_t wanted_bytes) {
  created.path = path;
  constexpr int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW;
  created.fd = path.empty() ? -1 : event::open_high(path.c_str(), flags, 0600);
  int file_errno = errno;
  if (created.fd >= 0) {
    // Before it has any size: who finds it half made sees whether its maker lives.
    const bool is_locked = lock_whole_file(created.fd);
    if (map_what_is_granted(created, wanted_bytes)) {
      created.ring.header().owner_namespace = namespace_of_host();
      if (!is_locked) note_lockless(created.ring);
      give_back_low(created);
      return;
    }
    file_errno = errno;
    created.is_crowded_out =
        within_free_space(created.fd, smallest_ring_bytes) < smallest_ring_bytes;
    unlink(path.c_str());
    close(created.fd);
  }
  created.path.clear();
  if (!map_private(created, wanted_bytes)) {
    created.problem = "ring: no memory for it (" + describe_errno(errno) + "): tracing is off";
    return;
  }
  const std::string what = created.is_crowded_out ? "what is free in its folder is left to others"
                                                  : describe_errno(file_errno);
  const char* const usual_remedy = "set TRACEAGENT_RING_FOLDER to a writable tmpfs";
  const std::string remedy =
      created.is_crowded_out ? "see traceagent recover --list for what killed jobs left, or set "
                               "TRACEAGENT_RING_FOLDER to another tmpfs"
      : file_errno == EFBIG  ? shrink_remedy(EFBIG)
                             : usual_remedy;
  created.problem = "ring: " + path + ": " + what +
                    ": recording in private memory, which does not survive a kill: " + remedy;
}

// Before anybody knows of it.
void unmake(CreatedRing& created) noexcept {
  if (created.ring.valid()) munmap(&created.ring.header(), created.ring.header().file_bytes);
  if (created.fd >= 0) close(created.fd);
  if (!created.path.empty()) unlink(created.path.c_str());
}

}  // namespace

std::uint64_t bytes_for_ring(const struct statvfs& space, std::uint64_t wanted_bytes) noexcept {
  if (space.f_blocks == 0) return wanted_bytes;  // a tmpfs without a limit
  const std::uint64_t free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
  const std::uint64_t left_bytes = std::min(bytes_left_to_others(space), free_bytes);
  const std::uint64_t most_bytes = std::max(free_bytes / ring_of_free, smallest_ring_bytes);
  const std::uint64_t bytes = std::min({wanted_bytes, most_bytes, free_bytes - left_bytes});
  return bytes >= smallest_ring_bytes ? bytes : 0;
}

CreatedRing create_ring(const std::string& path, std::uint64_t wanted_bytes) {
  CreatedRing created;
  try {
    make_ring(created, path, wanted_bytes);
  } catch (...) {
    unmake(created);
    throw;
  }
  return created;
}

bool owner_holds_lock(const std::string& path) noexcept {
  const int fd = event::open_high(path.c_str(), O_RDWR | O_NOFOLLOW);
  if (fd < 0) return false;
  struct flock lock {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(fd);
  return held;
}

bool maker_lives(const std::string& path) noexcept {
  const char* name = path.c_str() + (path.rfind('/') + 1);  // npos + 1 is 0
  const char* dash = std::strchr(name, '-');
  if (dash == nullptr) return false;
  const auto pid = static_cast<std::uint32_t>(std::strtoul(dash + 1, nullptr, 10));
  return process_lives(pid, start_time_of(pid));
}

namespace {

// The magic number is written last, so a ring without it holds nothing. Only under a ring's name: a
// file of zeros may be anybody's.
bool is_unmade(int fd, const std::string& path) noexcept {
  std::uint64_t begin = 0;
  const ssize_t got = pread(fd, &begin, sizeof begin, 0);
  return path.ends_with(".ring") && got >= 0 && begin == 0;
}

// Between the file's creation and its lock its maker shows by its pid alone.
bool is_being_made(const std::string& path, const struct stat& facts) noexcept {
  if (owner_holds_lock(path)) return true;
  constexpr std::time_t longest_s = 10;  // the pid may be another's by then
  return std::time(nullptr) - facts.st_ctime <= longest_s && maker_lives(path);
}

// In another pid namespace, of which only the ring is seen.
bool may_live_elsewhere(const Header& header) noexcept {
  constexpr std::int64_t longest_silence_ns = 10'000'000'000;
  if (header.lockless_in == 0 || header.lockless_in == pid_namespace()) return false;
  if (header.finished.load(std::memory_order_relaxed) != 0) return false;
  const auto now_ns = static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
  return now_ns - last_anchor_ns(header) < longest_silence_ns;
}

}  // namespace

std::int64_t last_anchor_ns(const Header& header) noexcept {
  std::int64_t last = 0;
  const auto now_ns = static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
  for (const event::ClockAnchor& anchor : anchors_in(header)) {
    const auto anchor_ns = static_cast<std::int64_t>(anchor.realtime_ns);
    if (anchor_ns <= now_ns) last = std::max(last, anchor_ns);
  }
  return last;
}

OpenedRing open_ring(const std::string& path) {
  OpenedRing opened;
  const int fd = event::open_high(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  struct stat facts {};
  if (fd < 0 || fstat(fd, &facts) != 0) {
    const int open_errno = errno;
    if (fd >= 0) close(fd);
    opened.is_gone = open_errno == ENOENT;
    opened.problem = path + ": " + describe_errno(open_errno);
    return opened;
  }
  opened.owner = facts.st_uid;
  const auto file_bytes = static_cast<std::uint64_t>(facts.st_size);
  if (S_ISREG(facts.st_mode) && is_unmade(fd, path)) {
    close(fd);
    opened.is_unmade = true;
    opened.owner_alive = is_being_made(path, facts);
    opened.problem = path + ": its process has not made it yet";
    return opened;
  }
  if (!S_ISREG(facts.st_mode) || file_bytes < sizeof(Header)) {
    close(fd);
    opened.problem = path + ": " + not_a_ring;
    return opened;
  }
  void* memory = mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  const int map_errno = errno;
  close(fd);
  if (memory == MAP_FAILED) {
    opened.problem = path + ": " + describe_errno(map_errno);
    return opened;
  }
  const std::string fault = check_header(*static_cast<Header*>(memory), file_bytes);
  if (!fault.empty()) {
    opened.problem = path + ": " + fault;
    munmap(memory, file_bytes);
    return opened;
  }
  opened.ring = Ring(memory);
  const Header& header = opened.ring.header();
  // A daemon that closes all its descriptors drops the lock and goes on.
  // (Under our own pid lies what we were before an exec.)
  opened.owner_alive = owner_holds_lock(path) ||
                       (header.owner_pid != static_cast<std::uint32_t>(getpid()) &&
                        process_lives(header.owner_pid, header.owner_start_time) &&
                        process_maps(header.owner_pid, path.c_str())) ||
                       may_live_elsewhere(header);
  return opened;
}

bool is_own(const OpenedRing& opened) noexcept { return opened.owner == geteuid(); }

void close_ring(OpenedRing& opened) noexcept {
  if (!opened.ring.valid()) return;
  munmap(&opened.ring.header(), opened.ring.header().file_bytes);
  opened.ring = Ring();
}

}  // namespace traceagent::ring
