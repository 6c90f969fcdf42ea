#include "agent/ring/private_workers.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/ring/owner.hpp"

namespace traceagent::ring {
namespace {

constexpr std::size_t place_bytes = sizeof(PrivateWorker);
constexpr std::size_t table_bytes = most_private_workers * place_bytes;

std::string path_of(const std::string& run) { return run + "/" + private_workers_note; }

off_t offset_of(std::size_t place) noexcept { return static_cast<off_t>(place * place_bytes); }

struct flock lock_of(std::size_t place, short type) noexcept {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = offset_of(place);
  lock.l_len = place_bytes;
  return lock;
}

// As a ring's: not inherited by fork, and gone with the process, whatever its pid namespace.
bool try_lock(int fd, std::size_t place) noexcept {
  const struct flock lock = lock_of(place, F_WRLCK);
  return fcntl(fd, F_SETLK, &lock) == 0;
}

void unlock(int fd, std::size_t place) noexcept {
  const struct flock lock = lock_of(place, F_UNLCK);
  fcntl(fd, F_SETLK, &lock);
}

bool is_locked(int fd, std::size_t place) noexcept {
  struct flock lock = lock_of(place, F_WRLCK);
  return fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

// False behind the last place.
bool read_place(int fd, std::size_t place, PrivateWorker& worker) noexcept {
  const ssize_t got = event::uninterrupted(
      [&] { return pread(fd, static_cast<void*>(&worker), place_bytes, offset_of(place)); });
  return got == static_cast<ssize_t>(place_bytes);
}

// A daemon that closes all its descriptors drops the lock and goes on; who called exec has not the
// mapping.
bool lives_without_lock(const PrivateWorker& worker, const std::string& path) noexcept {
  return worker.pid != 0 && worker.pid != static_cast<std::uint32_t>(getpid()) &&
         worker.pid_namespace == pid_namespace() && process_lives(worker.pid, worker.start_time) &&
         process_maps(worker.pid, path.c_str());
}

void count(std::uint64_t all, std::uint64_t ranks, PrivateKilled& killed) noexcept {
  ranks = std::min(ranks, all);
  killed.ranks += ranks;
  killed.workers += all - ranks;
}

std::string counted(std::uint64_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

bool was_killed(const PrivateWorker& dead) noexcept { return dead.pid != 0 && dead.finished == 0; }

// Locked, and of nobody who lives. `before` is what lies there.
std::size_t lock_free_place(int fd, const std::string& path, PrivateWorker& before) noexcept {
  for (std::size_t place = 0; place < most_private_workers; ++place) {
    if (!try_lock(fd, place)) continue;
    before = PrivateWorker();
    read_place(fd, place, before);
    if (!lives_without_lock(before, path)) return place;
    unlock(fd, place);
  }
  return no_private_place;
}

// Whole: parts of it would have to begin with a page, whose size differs.
PrivateWorker* map_table(int fd) noexcept {
  void* const table = mmap(nullptr, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  return table == MAP_FAILED ? nullptr : static_cast<PrivateWorker*>(table);
}

PrivatePlace take_place(int fd, const std::string& path, PrivateWorker own) noexcept {
  PrivateWorker before;
  const std::size_t place = lock_free_place(fd, path, before);
  if (place == no_private_place) return {};
  own.killed_before = before.killed_before + (was_killed(before) ? 1 : 0);
  own.ranks_killed_before =
      before.ranks_killed_before + (was_killed(before) && before.is_rank != 0 ? 1 : 0);
  PrivateWorker* const table = map_table(fd);
  if (table == nullptr) return {};
  // By a call: a store into a page that finds no room would be a SIGBUS. Of one that is cut short
  // nobody is said to be killed.
  own.finished = 1;
  const ssize_t written =
      event::uninterrupted([&] { return pwrite(fd, &own, place_bytes, offset_of(place)); });
  if (written != static_cast<ssize_t>(place_bytes)) {
    munmap(table, table_bytes);
    return {};
  }
  std::atomic_ref(table[place].finished).store(0, std::memory_order_seq_cst);
  return {table + place, place};
}

}  // namespace

PrivatePlace take_private_place(const std::string& run, std::int64_t rank, std::int64_t local_rank,
                                bool is_rank) {
  const std::string path = path_of(run);
  const int fd = event::open_high(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (fd < 0) return {};
  PrivateWorker own;
  own.pid = static_cast<std::uint32_t>(getpid());
  own.start_time = start_time_of(own.pid);
  own.pid_namespace = pid_namespace();
  own.rank = rank;
  own.local_rank = local_rank;
  own.is_rank = is_rank ? 1 : 0;
  const PrivatePlace taken = take_place(fd, path, own);
  // Else it holds the lock, or a low number of the job's, which is given back.
  if (taken.worker == nullptr || fd < event::lowest_high_descriptor) close(fd);
  return taken;
}

void finish_private_worker(const PrivatePlace& own) noexcept {
  if (own.worker == nullptr) return;
  std::atomic_ref(own.worker->finished).store(1, std::memory_order_seq_cst);
}

std::string in_words(const PrivateKilled& killed) {
  if (killed.ranks == 0) return counted(killed.workers, "worker");
  const std::string ranks = counted(killed.ranks, "rank");
  return killed.workers == 0 ? ranks : ranks + " and " + counted(killed.workers, "worker");
}

std::string lost_in_words(const PrivateKilled& killed) {
  return killed.count() == 1 ? "was killed: lost" : "were killed: lost";
}

PrivateWorkers private_workers_of(const std::string& run, const PrivatePlace& own) {
  PrivateWorkers found;
  const std::string path = path_of(run);
  const int fd = event::open_high(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return found;
  PrivateWorker worker;
  for (std::size_t i = 0; i < most_private_workers && read_place(fd, i, worker); ++i) {
    count(worker.killed_before, worker.ranks_killed_before, found.killed);
    if (worker.pid == 0 || i == own.number) continue;
    if (is_locked(fd, i) || lives_without_lock(worker, path)) {
      found.living.push_back(worker);
    } else {
      found.dead.push_back(worker);
      if (was_killed(worker)) count(1, worker.is_rank, found.killed);
    }
  }
  close(fd);
  return found;
}

}  // namespace traceagent::ring
