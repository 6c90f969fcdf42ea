#include "agent/process/window_writer.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <ctime>
#include <utility>

#include "agent/drain/file_names.hpp"
#include "agent/drain/late_losses.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/event/clock_anchor.hpp"
#include "agent/event/own_heap.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/live_coverage.hpp"
#include "agent/process/notices.hpp"
#include "agent/process/uploads.hpp"
#include "agent/ring/anchors.hpp"
#include "agent/ring/overwriting.hpp"
#include "agent/ring/written_files.hpp"

namespace traceagent::process {

using ring::WindowState;

namespace {
// A call reads its ticks before it is published: one that a thread began within the window may not
// be there yet when another thread's step closes it.
constexpr double settle_ns = 1e7;
}  // namespace

WindowWriter::WindowWriter(Agent& agent) noexcept
    : agent_(agent),
      unwritten_(agent),
      failures_(agent),
      // What is younger than 100 ms stays: a window may open a moment in the past.
      margin_ticks_(static_cast<std::uint64_t>(1e8 / agent.ring.ring.header().nominal_ns_per_tick)),
      freeing_pace_(10 * margin_ticks_),
      settle_ticks_(
          static_cast<std::uint64_t>(settle_ns / agent.ring.ring.header().nominal_ns_per_tick)) {
  try {
    governor_ = std::make_unique<Governor>(agent);
  } catch (...) {
    say_problem("out of memory: budget.overhead is not kept");
  }
}

bool WindowWriter::prefault() noexcept {
  // A millisecond or two: as long a thread of the job that maps memory waits for the kernel's lock,
  // and the process's end for this thread.
  constexpr std::uint64_t piece_bytes = 2 << 20;
  ring::Header& header = agent_.ring.ring.header();
  const std::uint64_t left_bytes = header.file_bytes - prefaulted_bytes_;
  if (left_bytes == 0) return false;
  const std::uint64_t now_bytes = std::min(left_bytes, piece_bytes);
  // Older kernels (before 5.14) do not know the advice: then the job pays the first touch.
#ifdef MADV_POPULATE_WRITE
  madvise(reinterpret_cast<std::byte*>(&header) + prefaulted_bytes_, now_bytes,
          MADV_POPULATE_WRITE);
#endif
  prefaulted_bytes_ += now_bytes;
  return prefaulted_bytes_ < header.file_bytes;
}

void WindowWriter::bound_startup(std::uint64_t now_ticks) noexcept {
  if (agent_.windows->state() != step::State::startup) return;
  const ring::Header& header = agent_.ring.ring.header();
  // Half the ring, so that the first window finds room while this one is being given back.
  if (header.free_chunks.load(std::memory_order_relaxed) < header.chunk_count / 2) {
    agent_.windows->end_startup(now_ticks);
  }
}

void WindowWriter::free_chunks(std::uint64_t now_ticks) noexcept {
  const ring::Header& header = agent_.ring.ring.header();
  // After an evaluation a step may be found to have begun long ago, seconds in a large job: in
  // warm-up, events are kept while the ring has room for them.
  if (agent_.windows->state() == step::State::warmup &&
      header.free_chunks.load(std::memory_order_relaxed) >= header.chunk_count / 2) {
    return;
  }
  std::uint64_t held_from = FreeingPace::nothing_held;
  for (const ring::Window& window : header.windows) {
    if (!ring::is_unwritten(window)) continue;
    held_from = std::min(held_from, window.begin_ticks.load(std::memory_order_relaxed));
  }
  const bool has_room =
      header.free_chunks.load(std::memory_order_relaxed) >= header.chunk_count / 2;
  if (!freeing_pace_.is_due(now_ticks, ring::take_note_of_retired(), held_from, has_room)) return;
  const std::uint64_t keep_from =
      std::min(held_from, now_ticks - std::min(now_ticks, margin_ticks_));
  freeing_pace_.note(drain::free_chunks_before(agent_.ring.ring, keep_from).kept != 0);
}

namespace {

drain::RankFileReport write_bounded(const ring::Ring& ring, const ring::Window& window,
                                    const drain::RankFileOptions& options) {
  const ring::OverwritingPaused paused;
  const event::BoundedHeap bounded;
  return drain::write_rank_file(ring, window, options);
}

}  // namespace

// The window that did not fit, and what comes after it.
void WindowWriter::give_up_files(const std::string& path) {
  if (governor_ == nullptr || governor_->is_stopped()) return failures_.count();
  governor_->note_window_left_out();
  governor_->stop(ring::BudgetKind::disk);
  failures_.say_too_large(path);
}

// Not for want of memory in the machine.
bool WindowWriter::is_over_memory_budget(std::uint64_t refused_before) noexcept {
  if (event::own_heap.refused.load(std::memory_order_relaxed) == refused_before) return false;
  if (governor_ != nullptr) governor_->note_window_left_out();
  failures_.say_over_memory_budget();
  return true;
}

void WindowWriter::write(ring::Window& window) noexcept {
  const std::uint64_t refused_before = event::own_heap.refused.load(std::memory_order_relaxed);
  Outcome outcome = Outcome::failed;
  try {
    write_file(window, refused_before, outcome);
  } catch (...) {
    if (outcome != Outcome::failed || !is_over_memory_budget(refused_before)) {
      failures_.say_out_of_memory();
    } else {
      outcome = Outcome::left_out;
    }
  }
  if (outcome != Outcome::has_file) drain::note_last_correlation(agent_.ring.ring, window, 0);
  window.state.store(outcome == Outcome::failed ? WindowState::failed : WindowState::written,
                     std::memory_order_release);
}

// A kill finds the old text or the new one.
void WindowWriter::describe_steps() {
  const ring::Ring& ring = agent_.ring.ring;
  ring::Header& header = ring.header();
  const std::string description = agent_.tracker->description();
  if (ring.name(header.identity.step_description) == description) return;
  auto& places = header.description_places;
  const std::uint32_t text = ring.replace_name(places[1], description);
  if (text == 0) return;
  std::atomic_ref(header.identity.step_description).store(text, std::memory_order_release);
  std::swap(places[0], places[1]);
}

// `outcome`: `failed` until it has a file, or must not have one.
void WindowWriter::write_file(ring::Window& window, std::uint64_t refused_before,
                              Outcome& outcome) {
  describe_steps();
  drain::RankFileOptions options;
  options.coverage = live_coverage(agent_);
  options.most_bytes = disk_room(agent_);
  options.index_queue = &agent_.index_queue;
  before_rank_file(agent_);
  const drain::RankFileReport report = write_bounded(agent_.ring.ring, window, options);
  if (report.is_too_large) {
    outcome = Outcome::left_out;
    give_up_files(report.path);
  } else if (report.problem.empty()) {
    outcome = Outcome::has_file;
    note_file(window, report);
  } else if (is_over_memory_budget(refused_before)) {
    outcome = Outcome::left_out;
  } else {
    failures_.say_failed(report.problem);
  }
}

namespace {

void say_evaded(const drain::RankFileReport& report) {
  const bool is_of_several = report.is_of_several_ranks;
  say_result(report.evaded +
             (is_of_several ? ": several ranks' files have this name: written as "
                            : ": others have taken the name: written as ") +
             report.path +
             (is_of_several ? ": put {rank} into output.filename"
                            : ": give each run an output.folder of its own"));
}

}  // namespace

// A warm-up that was over before CUPTI was on. A detail, since the file says it, and check: where
// steps take microseconds it depends on who got a core first.
void WindowWriter::note_late_cupti(const ring::Window& window,
                                   const drain::RankFileReport& report) {
  const bool is_early = report.early_launches != 0 || report.has_calls_alone;
  if (!is_early || window.is_startup != 0 || !agent_.options.doors_cupti) return;
  if (agent_.device.is_refused() || agent_.device.is_left_out()) return;
  const std::string launches =
      report.has_calls_alone ? "all" : std::to_string(report.early_launches) + " launches";
  say_detail(report.path + ": CUPTI was not on yet: no times of the work of " + launches +
             ": add steps to schedule.warmup");
}

void WindowWriter::note_file(ring::Window& window, const drain::RankFileReport& report) {
  const ring::Ring& ring = agent_.ring.ring;
  window.file_name = ring.replace_name(ring::file_name_place_of(ring, window), report.path);
  queue_rank_file(agent_, window, report);
  lists_all_ = ring::note_written_file(agent_.ring.path, report.path) && lists_all_;
  agent_.written_files.add(report.path);
  if (!report.evaded.empty() && is_spokesman(agent_, "evaded")) say_evaded(report);
  if (report.is_shortened && is_spokesman(agent_, "filename")) {
    say_result(drain::shortened_in_words("output.filename", report.path));
  }
  note_late_cupti(window, report);
  say_detail("wrote " + report.path + ": " + std::to_string(report.events) + " events");
  agent_.written.add_file(report.events, report.dropped);
  if (governor_ != nullptr) governor_->note_written(report.bytes, report.replaced_bytes);
  // After all that the merge needs: from here on memory may run out.
  if (!report.index_problem.empty() && is_spokesman(agent_, "index")) {
    say_problem(report.index_problem);
  }
  after_rank_file(agent_, report);
}

// Once more: the disk may have been full for a while. What is given up makes room when its chunks
// are old enough to be freed: others that were given up before would be lost for nothing.
void WindowWriter::make_room(std::uint64_t now_ticks) noexcept {
  while (given_up_until_ticks_ + margin_ticks_ <= now_ticks) {
    ring::Window* const oldest = unwritten_.beyond_room();
    if (oldest == nullptr) return;
    if (!is_given_up(*oldest)) write(*oldest);
    if (oldest->state.load(std::memory_order_relaxed) == WindowState::failed) {
      given_up_until_ticks_ = oldest->end_ticks.load(std::memory_order_relaxed);
      unwritten_.give_up(*oldest);
    }
    free_chunks(now_ticks);
  }
}

void WindowWriter::write_last() noexcept {
  unwritten_.try_again();
  write_closed(UINT64_MAX, false);
  try {
    after_last_rank_file(agent_);
  } catch (...) {
    failures_.say_out_of_memory();
  }
}

void WindowWriter::leave_out(ring::Window& window) noexcept {
  governor_->note_window_left_out();
  drain::note_last_correlation(agent_.ring.ring, window, 0);
  window.state.store(WindowState::written, std::memory_order_release);
}

// What closes when no file may be written any more.
bool WindowWriter::is_given_up(ring::Window& window) noexcept {
  if (governor_ == nullptr || !governor_->is_stopped()) return false;
  leave_out(window);
  return true;
}

// A window that closed while our threads have worked too much is written later, or at the end.
// True: not now. Where it would keep the next ones out of the ring it is given up, in the last
// resort.
bool WindowWriter::is_put_off(ring::Window& window) noexcept {
  if (governor_ == nullptr || !governor_->is_short_of_cpu()) return false;
  constexpr std::size_t most_waiting = ring::window_slots / 4;
  const ring::Header& header = agent_.ring.ring.header();
  const auto waiting =
      std::count_if(header.windows.begin(), header.windows.end(), [](const ring::Window& each) {
        return each.state.load(std::memory_order_relaxed) == WindowState::closed;
      });
  const bool has_room =
      header.free_chunks.load(std::memory_order_relaxed) >= header.chunk_count / 2 &&
      static_cast<std::size_t>(waiting) <= most_waiting;
  if (has_room) return true;
  if (!governor_->may_leave_out_windows()) return false;
  leave_out(window);
  return true;
}

void WindowWriter::write_closed(std::uint64_t before_ticks, bool may_wait) noexcept {
  for (ring::Window* const each : ring::windows_in_order(agent_.ring.ring)) {
    ring::Window& window = *each;
    if (window.state.load(std::memory_order_acquire) != WindowState::closed) continue;
    if (window.end_ticks.load(std::memory_order_relaxed) >= before_ticks) continue;
    if (!agent_.device.is_settled(window)) continue;
    if (!agent_.event_times.is_settled(agent_, window)) continue;
    if (!agent_.counters.is_settled(window)) continue;
    if (is_given_up(window) || (may_wait && is_put_off(window))) continue;
    // The rate between the last anchors must cover the window's end.
    ring::add_anchor(agent_.ring.ring.header(), event::take_anchor());
    write(window);
    // Windows that were put off are written one by one, as the budget allows.
    if (may_wait && governor_ != nullptr) governor_->look(event::clock_ns(CLOCK_MONOTONIC));
  }
}

void WindowWriter::take_anchor() noexcept {
  anchors_.take(agent_.ring.ring, event::clock_ns(CLOCK_MONOTONIC));
}

std::uint64_t WindowWriter::next_anchor_in_ns() const noexcept {
  return anchors_.next_in_ns(event::clock_ns(CLOCK_MONOTONIC));
}

void WindowWriter::poll() noexcept {
  const std::uint64_t now_ticks = event::read_ticks();
  const std::uint64_t now_ns = event::clock_ns(CLOCK_MONOTONIC);
  anchors_.take(agent_.ring.ring, now_ns);
  agent_.tracker->poll(now_ticks, now_ns);
  agent_.windows->refresh_modes();
  bound_startup(now_ticks);
  agent_.event_times.poll(agent_, agent_.device.is_refused());
  write_closed(now_ticks - std::min(now_ticks, settle_ticks_), true);
  // Before chunks go that it has not counted.
  if (governor_ != nullptr) governor_->look(event::clock_ns(CLOCK_MONOTONIC));
  free_chunks(now_ticks);
  make_room(now_ticks);
}

}  // namespace traceagent::process
