#include "agent/drain/recover_ring.hpp"

#include <algorithm>
#include <cmath>

#include "agent/drain/file_names.hpp"
#include "agent/drain/recover_window.hpp"
#include "agent/ring/ring_file.hpp"
#include "agent/ring/written_files.hpp"

namespace traceagent::drain {
namespace {

// A rate out of this range is no clock's, and its products no numbers.
bool has_plausible_clock(const ring::Header& header) noexcept {
  const double rate = header.nominal_ns_per_tick;
  return std::isfinite(rate) && rate > 1e-3 && rate < 1e6;
}

std::uint64_t lost_in_open_windows(const ring::Ring& ring) noexcept {
  std::uint64_t lost = 0;
  for (const ring::Window& window : ring.header().windows) {
    const ring::WindowState state = window.state.load(std::memory_order_relaxed);
    if (state != ring::WindowState::open && state != ring::WindowState::closed) continue;
    const auto dropped = ring::dropped_in(ring, window);
    lost += dropped[static_cast<std::size_t>(ring::DropCause::ring_full)] +
            dropped[static_cast<std::size_t>(ring::DropCause::overwritten)];
  }
  return lost;
}

// A ring that is recovered twice (kept, or merged again), or that died between a file's last byte
// and its note in the ring: the list knows the file.
void skip_listed_windows(const ring::Ring& ring, const std::string& path) {
  const std::vector<std::string> listed = ring::written_files(path);
  const auto is_listed = [&](const std::string& file) {
    return std::find(listed.begin(), listed.end(), file) != listed.end();
  };
  for (ring::Window& window : ring.header().windows) {
    const NamedFile named = rank_file_name(ring, window);
    if (is_listed(named.path) || is_listed(with_pid(named.path, ring.header().owner_pid))) {
      window.state.store(ring::WindowState::written, std::memory_order_relaxed);
    }
  }
}

void recover(const ring::Ring& ring, const std::string& path, Recovered& recovered) {
  skip_listed_windows(ring, path);
  recovered.rank = ring.header().identity.rank;
  recovered.lost = lost_in_open_windows(ring);
  for (const RankFileReport& report : recover_windows(ring)) {
    if (!report.problem.empty()) {
      recovered.problems.push_back(report.problem);
      continue;
    }
    recovered.files.push_back({report.path, report.events});
    ring::note_written_file(path, report.path);
  }
  if (recovered.files.empty() && recovered.problems.empty()) {
    recovered.nothing = "it died outside the schedule's active steps, or all was written";
  }
}

}  // namespace

std::uint64_t Recovered::events() const noexcept {
  std::uint64_t sum = 0;
  for (const RecoveredFile& file : files) sum += file.events;
  return sum;
}

Recovered recover_ring(const std::string& ring_path) {
  Recovered recovered;
  ring::OpenedRing opened = ring::open_ring(ring_path);
  if (!opened.ring.valid()) {
    recovered.problems.push_back("ring: " + opened.problem);
    return recovered;
  }
  const ring::Header& header = opened.ring.header();
  if (opened.owner_alive) {
    recovered.problems.push_back("ring: " + ring_path + ": its process " +
                                 std::to_string(header.owner_pid) +
                                 " still runs: it writes its files itself");
  } else if (header.ready.load(std::memory_order_acquire) == 0) {
    recovered.nothing = "its process ended before the agent was ready";
  } else if (!has_plausible_clock(header)) {
    recovered.problems.push_back("ring: " + ring_path +
                                 ": its clock makes no sense: the file is damaged");
  } else if (header.identity.checksum != ring::identity_checksum(opened.ring)) {
    // Its files would go anywhere, and its bytes to the user's terminal.
    recovered.problems.push_back("ring: " + ring_path +
                                 ": its identity does not add up: the file is damaged");
  } else {
    recover(opened.ring, ring_path, recovered);
  }
  ring::close_ring(opened);
  return recovered;
}

}  // namespace traceagent::drain
