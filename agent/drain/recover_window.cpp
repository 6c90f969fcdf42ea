#include "agent/drain/recover_window.hpp"

#include <algorithm>
#include <utility>

#include "agent/drain/upload_queue.hpp"
#include "agent/ring/anchors.hpp"

namespace traceagent::drain {
namespace {

using ring::Window;
using ring::WindowState;

// The last moment at which the process is known to have lived: its last event, or the last anchor
// of its drain thread, which goes on while a call hangs. Up to there a call that never returned is
// shown.
std::uint64_t last_tick(const ring::Ring& ring) noexcept {
  std::uint64_t last = 0;
  for (const event::ClockAnchor& anchor : ring::anchors_in(ring.header())) {
    last = std::max(last, anchor.ticks);
  }
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const ring::Chunk& chunk = ring.chunk(i);
    if (chunk.claim_number.load(std::memory_order_acquire) == 0) continue;
    for (const event::Record& record : chunk.records) {
      last = std::max({last, record.begin_ticks.load(std::memory_order_relaxed),
                       record.end_ticks.load(std::memory_order_relaxed)});
    }
  }
  return last;
}

void close_open_window(const ring::Ring& ring, Window& window, std::uint64_t end_ticks) noexcept {
  if (window.state.load(std::memory_order_relaxed) != WindowState::open) return;
  if (window.end_ticks.load(std::memory_order_relaxed) == 0) {
    window.end_ticks.store(std::max(end_ticks, window.begin_ticks.load(std::memory_order_relaxed)),
                           std::memory_order_relaxed);
  }
  ring::note_dropped(ring, window.dropped_at_end);
  window.state.store(WindowState::closed, std::memory_order_relaxed);
}

}  // namespace

std::vector<RankFileReport> recover_windows(const ring::Ring& ring, std::uint64_t most_bytes,
                                            IndexQueue* index_queue) {
  std::vector<RankFileReport> reports;
  const std::uint64_t end = last_tick(ring) + 1;
  RankFileOptions options;
  options.recovered = true;
  options.index_queue = index_queue;
  // In order: what a file tells of the device's losses, none after it tells of again.
  for (Window* const window : ring::windows_in_order(ring)) {
    if (!ring::is_unwritten(*window)) continue;
    close_open_window(ring, *window, end);
    options.most_bytes = most_bytes;
    RankFileReport report = write_rank_file(ring, *window, options);
    most_bytes -= std::min(most_bytes, report.bytes);
    if (report.is_too_large) {
      report.problem =
          "trace: " + report.path + ": not recovered: it would take more than " +
          std::to_string(most_bytes_per_ring_byte) +
          " times the memory of its ring, which may be damaged: traceagent recover --any-size";
    }
    if (report.problem.empty()) {
      window->state.store(WindowState::written, std::memory_order_relaxed);
      report.upload_problem = queue_rank_file(ring, *window, report.path);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace traceagent::drain
