#include "agent/process/older_run.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

#include "agent/event/ticks.hpp"
#include "agent/process/note_file.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/owner.hpp"
#include "agent/ring/ring_file.hpp"

namespace traceagent::process {
namespace {

// The process that wrote the claim. Of another container it cannot be seen: its ring can.
bool has_living_claimant(const std::string& path) {
  const auto pid = static_cast<std::uint32_t>(std::strtoul(read_note(path).c_str(), nullptr, 10));
  return ring::process_lives(pid, ring::start_time_of(pid));
}

enum class Rings { none, living, finished, killed };

Rings look_at_rings(const RunFolder& folder) {
  Rings rings = Rings::none;
  for (const std::string& path : ring_paths(folder)) {
    ring::OpenedRing opened = ring::open_ring(path);
    const bool finished = opened.ring.valid() && opened.ring.header().finished.load() != 0;
    ring::close_ring(opened);
    if (opened.owner_alive) return Rings::living;
    if (rings != Rings::killed) rings = finished ? Rings::finished : Rings::killed;
  }
  return rings;
}

// One whose processes have all ended well may go on: with a rank that begins late, or with one
// whose child used its number before it did.
bool is_dead_run(const RunFolder& folder, const std::string& own_claim) {
  if (access(own_claim.c_str(), F_OK) != 0 || has_living_claimant(own_claim)) return false;
  const Rings rings = look_at_rings(folder);
  return rings == Rings::killed || (rings != Rings::living && has_been(folder, merge_topic));
}

// Whoever makes the note in the folder may move it: another rank that found it dead too would
// otherwise move the new one.
void set_aside(const RunFolder& folder, const std::string& own_claim, int pid) {
  const std::int64_t now_ns = event::clock_ns(CLOCK_REALTIME);
  const std::string note = folder.path + "/aside";
  const std::string time = std::to_string(now_ns) + "\n";
  if (!make_note(note, time)) return;
  const RunFolder aside{folder.path + ".dead-" + std::to_string(pid), {}};
  if (!is_dead_run(folder, own_claim) || rename(folder.path.c_str(), aside.path.c_str()) != 0) {
    unlink(note.c_str());
    return;
  }
  if (mkdir(folder.path.c_str(), 0700) == 0) make_note(folder.path + "/older", time);
  if (ring_paths(aside).empty()) {
    remove_run_folder(aside);
    return;
  }
  say_result(
      "an earlier run of this name was killed: its events wait in memory: traceagent recover " +
      aside.path);
}

}  // namespace

bool set_dead_run_aside(const RunFolder& folder, const std::string& own_claim, int pid) {
  constexpr int most_looks = 50;
  const timespec pause{0, 1'000'000};
  for (int look = 0; look < most_looks && is_dead_run(folder, own_claim); ++look) {
    set_aside(folder, own_claim, pid);
    if (access(own_claim.c_str(), F_OK) == 0) nanosleep(&pause, nullptr);  // another is at it
  }
  for (int look = 0; look < most_looks && access(folder.path.c_str(), F_OK) != 0; ++look) {
    nanosleep(&pause, nullptr);  // another has moved it, and makes it anew now
  }
  return access(own_claim.c_str(), F_OK) != 0;
}

std::int64_t older_run_until_ns(const RunFolder& folder) {
  return folder.path.empty() ? 0
                             : std::strtoll(read_note(folder.path + "/older").c_str(), nullptr, 10);
}

}  // namespace traceagent::process
