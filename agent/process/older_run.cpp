#include "agent/process/older_run.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "agent/event/ticks.hpp"
#include "agent/event/uninterrupted.hpp"
#include "agent/process/note_file.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/private_workers.hpp"
#include "agent/process/run_launcher.hpp"
#include "agent/ring/dead_runs.hpp"
#include "agent/ring/movers_note.hpp"
#include "agent/ring/private_workers.hpp"
#include "agent/ring/recovery_note.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/written_files.hpp"
#include "config/command_words.hpp"

namespace traceagent::process {
namespace {

enum class Rings { none, living, finished, killed };

// Local rank zero's ring goes with the run's folder, by its own hand: where it is left, its process
// was killed over that.
bool is_of_zero(const ring::Header& header) noexcept {
  return header.ready.load(std::memory_order_acquire) != 0 && header.identity.local_rank == 0 &&
         header.identity.trace_pid == header.identity.rank;
}

struct Seen {
  Rings rings = Rings::none;
  std::int64_t last_sign_ns = 0;
  std::int64_t world_size = 0;
};

Seen look_at_rings(const RunFolder& folder) {
  Seen seen;
  std::string problem;
  const std::vector<std::string> paths = ring_paths(folder, &problem);
  if (!problem.empty()) return {Rings::living};  // nobody knows
  for (const std::string& path : paths) {
    ring::OpenedRing opened = ring::open_ring(path);
    // What it could not write or queue waits for `traceagent recover`, as that of a killed one.
    const bool finished = opened.ring.valid() && opened.ring.header().finished.load() != 0 &&
                          !ring::has_unwritten_window(opened.ring) &&
                          !is_of_zero(opened.ring.header()) && ring::waiting_uploads(path).empty();
    if (opened.ring.valid()) {
      const ring::Header& header = opened.ring.header();
      seen.last_sign_ns = std::max(seen.last_sign_ns, ring::last_anchor_ns(header));
      if (header.ready.load(std::memory_order_acquire) != 0) {
        seen.world_size = header.identity.world_size;
      }
    }
    ring::close_ring(opened);
    if (opened.owner_alive) return {Rings::living};
    if (seen.rings != Rings::killed) seen.rings = finished ? Rings::finished : Rings::killed;
  }
  return seen;
}

constexpr std::int64_t second_ns = 1'000'000'000;

// In a usual start the first claim that is seen is younger than this rank: no other is looked at.
bool is_any_claim_after(const RunFolder& folder, std::int64_t at_ns) {
  const std::vector<std::string> claims = claim_paths(folder);
  return std::any_of(claims.begin(), claims.end(), [&](const std::string& claim) {
    struct stat facts {};
    return lstat(claim.c_str(), &facts) != 0 ||
           facts.st_mtim.tv_sec * second_ns + facts.st_mtim.tv_nsec >= at_ns;
  });
}

// A launcher starts the ranks of a node together: one that begins when all others are dead is
// mostly of the next run. Of the same one where their launcher lives, their world is of one size
// and they have just died: a launcher may begin a rank anew.
bool may_be_late(const RunFolder& folder, const Newcomer& newcomer, const Seen& seen) {
  if (seen.last_sign_ns >= newcomer.rank_start_ns) return true;
  if (has_lost_launcher(folder)) return false;
  // Who has claimed a rank in another container may make the first ring now.
  if (seen.rings == Rings::none) return true;
  if (newcomer.world_size != 0 && seen.world_size != 0 && seen.world_size != newcomer.world_size) {
    return false;
  }
  // Their last sign is of the last second of their lives.
  const std::int64_t long_before_ns = newcomer.rank_start_ns - 3 * second_ns;
  return seen.last_sign_ns >= long_before_ns || is_any_claim_after(folder, long_before_ns);
}

std::string in_note(const OlderRun& older) {
  return std::to_string(older.until_ns) + "\n" + std::to_string(older.pid) + "\n";
}

// A new folder that may take the old one's place, with its note. "" where it cannot be made.
std::string make_successor(const std::string& name, const OlderRun& older) {
  constexpr int most_names = 100;
  for (int number = 0; number < most_names; ++number) {
    // Of an earlier process of the same pid, a dead run may lie there.
    const std::string path = number == 0 ? name : name + "-" + std::to_string(number);
    if (mkdir(path.c_str(), 0700) == 0) {
      make_note(path + "/" + ring::older_run_note, in_note(older));
      return path;
    }
    if (errno != EEXIST) return {};
  }
  return {};
}

void remove_successor(const std::string& path) {
  unlink((path + "/" + ring::older_run_note).c_str());
  rmdir(path.c_str());
}

// Both at once: who is killed in here leaves the run's folder as it was, or a new one that knows
// where the old run's files end. What lies under the old one's new name, or "".
std::string exchange(const RunFolder& folder, const std::string& name, const OlderRun& older) {
  const std::string other = make_successor(name, older);
  if (other.empty()) return {};
  constexpr unsigned rename_exchange = 2;  // RENAME_EXCHANGE, absent from old headers
  if (syscall(SYS_renameat2, AT_FDCWD, other.c_str(), AT_FDCWD, folder.path.c_str(),
              rename_exchange) == 0) {
    return other;
  }
  // A file system that cannot do that.
  remove_successor(other);
  if (rename(folder.path.c_str(), other.c_str()) != 0) return {};
  if (mkdir(folder.path.c_str(), 0700) == 0) note_older_run(folder, older);
  return other;
}

// False where another is at it, or it is not dead.
bool set_aside(const RunFolder& folder, const Newcomer& newcomer) {
  const ring::MoversNote note(folder.path);
  if (!note.is_ours()) return false;
  const OlderRun older{static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME)), newcomer.pid};
  RunFolder aside;
  if (is_dead_run(folder, newcomer) && note.write_text(std::to_string(older.until_ns) + "\n")) {
    aside.path = exchange(folder, folder.path + ".dead-" + std::to_string(newcomer.pid), older);
  }
  if (aside.path.empty()) {
    note.remove();
    return false;
  }
  std::string problem;
  // Where nobody can look into it there may be rings.
  const bool is_empty = ring_paths(aside, &problem).empty() && problem.empty();
  if (is_empty) {
    say_private_workers_killed(ring::private_workers_of(aside.path).killed);
    remove_run_folder(aside);
  } else {
    const bool is_recovered_now = !ring::RecoveryNote(aside.path).take();
    say_result("an earlier run of this name was killed: its events " +
               (is_recovered_now
                    ? "are being recovered from memory"
                    : "wait in memory: traceagent recover " + config::shell_word(aside.path)));
  }
  return true;
}

}  // namespace

bool is_dead_run(const RunFolder& folder, const Newcomer& newcomer) {
  const bool has_been_there = access(newcomer.claim.c_str(), F_OK) == 0;
  // Of another container it cannot be seen: its ring can.
  if (has_been_there && ring::has_living_claimant(newcomer.claim)) return false;
  if (!has_been_there && is_any_claim_after(folder, newcomer.rank_start_ns)) return false;
  const Seen seen = look_at_rings(folder);
  if (seen.rings == Rings::living) return false;
  if (!has_been_there && may_be_late(folder, newcomer, seen)) return false;
  if (seen.rings == Rings::finished && !has_been(folder, merge_topic)) return false;
  // Another rank may have claimed its number, and make its ring now.
  return ring::look_at_run(folder.path).state != ring::Run::State::lives;
}

bool set_dead_run_aside(const RunFolder& folder, const Newcomer& newcomer) {
  // Whoever moves it may be kept from its CPU; if it is killed, its lock goes with it. Who gave up
  // sooner would join the dead run.
  constexpr int most_looks = 1000;
  const timespec pause{0, 1'000'000};
  for (int look = 0; look < most_looks && is_dead_run(folder, newcomer); ++look) {
    if (!set_aside(folder, newcomer)) nanosleep(&pause, nullptr);
  }
  constexpr int most_waits = 50;
  for (int look = 0; look < most_waits && access(folder.path.c_str(), F_OK) != 0; ++look) {
    nanosleep(&pause, nullptr);  // another has moved it, and makes it anew now
  }
  return access(newcomer.claim.c_str(), F_OK) != 0;
}

void note_older_run(const RunFolder& folder, const OlderRun& older) {
  make_note(folder.path + "/" + ring::older_run_note, in_note(older));
}

OlderRun older_run(const RunFolder& folder) {
  if (folder.path.empty()) return {folder.older_until_ns, 0};
  const std::string text = read_note(folder.path + "/" + ring::older_run_note);
  char* behind_time = nullptr;
  OlderRun older;
  older.until_ns = std::strtoll(text.c_str(), &behind_time, 10);
  older.pid = static_cast<int>(std::strtol(behind_time, nullptr, 10));
  return older;
}

std::int64_t older_run_until_ns(const RunFolder& folder) { return older_run(folder).until_ns; }

}  // namespace traceagent::process
