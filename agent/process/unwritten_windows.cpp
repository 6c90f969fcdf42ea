#include "agent/process/unwritten_windows.hpp"

#include <algorithm>
#include <string>

#include "agent/drain/clock.hpp"
#include "agent/drain/late_losses.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/overwriting.hpp"
#include "config/command_words.hpp"

namespace traceagent::process {
namespace {

using ring::WindowState;

bool has_failed(const ring::Window& window) noexcept {
  return window.state.load(std::memory_order_relaxed) == WindowState::failed;
}

std::uint64_t events_in(const ring::Ring& ring, const ring::Window& window) noexcept try {
  const event::TickConverter clock = drain::clock_of(ring, window);
  const std::uint64_t begin = window.begin_ticks.load(std::memory_order_relaxed);
  const std::uint64_t end = window.end_ticks.load(std::memory_order_relaxed);
  return drain::count_events(ring, begin, end, clock.realtime_ns(begin), clock.realtime_ns(end));
} catch (...) {
  return 0;  // out of memory
}

// Calls that never got into the ring.
std::uint64_t lost_in(const ring::Ring& ring, const ring::Window& window) noexcept {
  using enum ring::DropCause;
  const auto dropped = ring::dropped_in(ring, window);
  std::uint64_t lost = 0;
  for (const ring::DropCause cause :
       {ring_full, overwritten, during_start, ranges_too_deep, range_unmatched}) {
    lost += dropped[static_cast<std::size_t>(cause)];
  }
  return lost;
}

// Slots are used in turn, and that of a window that waits is not: no cycle would be recorded from
// there on until it is written or given up.
bool is_in_the_way(const ring::Header& header) noexcept {
  const std::uint32_t next = header.window_count.load(std::memory_order_relaxed);
  for (std::uint32_t i = 0; i < ring::window_slots / 4; ++i) {
    if (has_failed(header.windows[(next + i) % ring::window_slots])) return true;
  }
  return false;
}

}  // namespace

ring::Window* UnwrittenWindows::beyond_room() const noexcept {
  const ring::Header& header = agent_.ring.ring.header();
  ring::Window* oldest = nullptr;
  bool holds_chunks = true;
  std::size_t count = 0;
  for (ring::Window* const window : ring::windows_in_order(agent_.ring.ring)) {
    if (has_failed(*window)) {
      ++count;
      if (oldest == nullptr) oldest = window;
    } else if (oldest == nullptr && ring::is_unwritten(*window)) {
      holds_chunks = false;
    }
  }
  const bool lacks_chunks =
      header.free_chunks.load(std::memory_order_relaxed) < header.chunk_count / 2;
  const bool lacks_slots = count > ring::window_slots / 4 || is_in_the_way(header);
  return (lacks_chunks && holds_chunks) || lacks_slots ? oldest : nullptr;
}

void UnwrittenWindows::give_up(ring::Window& window) noexcept {
  const ring::Ring& ring = agent_.ring.ring;
  // What is overwritten between the two looks would be in both.
  const ring::OverwritingPaused paused;
  const std::uint64_t events = events_in(ring, window) + lost_in(ring, window);
  ++windows_lost_;
  events_lost_ += drain::give_up(ring, window, events);
}

void UnwrittenWindows::try_again() noexcept {
  for (ring::Window& window : agent_.ring.ring.header().windows) {
    if (has_failed(window)) window.state.store(WindowState::closed, std::memory_order_release);
  }
}

void UnwrittenWindows::say_lost() const {
  if (windows_lost_ == 0) return;
  const char* const why =
      agent_.ring.path.empty()
          ? ", and private memory ends with the process: see ring.folder"
          : ", and the ring had no room to keep them: make room on the disk, or "
            "raise ring.size";
  say_problem("rank " + std::to_string(agent_.identity.rank) + ": " +
              std::to_string(windows_lost_) + " windows of the schedule with " +
              std::to_string(events_lost_) + " events are lost: they could not be written" + why);
}

void UnwrittenWindows::keep_ring() {
  ring::Header& header = agent_.ring.ring.header();
  if (agent_.ring.path.empty()) {  // private memory: it ends with the process
    for (ring::Window& window : header.windows) {
      if (ring::is_unwritten(window)) give_up(window);
    }
  }
  say_lost();
  // Also one that was never tried, because something was still to come for it.
  if (!ring::has_unwritten_window(agent_.ring.ring)) return;
  agent_.kept_rings.push_back(agent_.ring.path);
  // One for the node: there all of its ranks' lie.
  if (is_spokesman(agent_, "unwritten")) {
    say_problem("what could not be written stays in memory: traceagent recover " +
                config::shell_word(agent_.run_folder.path));
  }
}

}  // namespace traceagent::process
