#include "agent/drain/window_marks.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "agent/drain/lanes.hpp"
#include "agent/event/device_record.hpp"

namespace traceagent::drain {
namespace {

constexpr std::string_view step_name = "ProfilerStep#";

// To the device. At its end a program waits for it once more and frees what it had, whenever that
// is.
bool gives_work(event::Layout layout) noexcept {
  using event::Layout;
  return (layout >= Layout::launch && layout <= Layout::set) || layout == Layout::graph ||
         layout == Layout::collective;
}

bool is_work(const DeviceSlice& slice) noexcept {
  if (slice.record->layout != event::Layout::device_work) return true;
  const event::DeviceKind kind = event::device_work_of(*slice.record).kind;
  return kind != event::DeviceKind::synchronise && kind != event::DeviceKind::memory &&
         kind != event::DeviceKind::overhead;
}

}  // namespace

WindowMarks::WindowMarks(const ring::Ring& ring, const ring::Window& window,
                         const WindowOrder& order, const CounterEvents& counters)
    : ring_(ring),
      begin_ticks_(window.begin_ticks.load(std::memory_order_relaxed)),
      end_ticks_(window.end_ticks.load(std::memory_order_relaxed)),
      order_(order),
      counters_(counters),
      steps_(steps_of(window)),
      changes_(governor_changes(ring)) {
  std::erase_if(changes_, [&](const GovernorChange& change) {
    return change.ticks < begin_ticks_ || change.ticks >= end_ticks_;
  });
  put_in_order();
}

void WindowMarks::write_lane_name(trace::EventWriter& writer) const {
  if (steps_.empty() && changes_.empty()) return;
  writer.thread_name(steps_tid, "steps");
  writer.thread_sort_index(steps_tid, -1);
}

std::vector<WindowMarks::StepSlice> WindowMarks::steps_of(const ring::Window& window) {
  std::vector<StepSlice> steps;
  if (window.is_startup != 0) return steps;
  const std::uint64_t last = window.last_step.load(std::memory_order_relaxed);
  const std::uint64_t wanted = window.first_step.load(std::memory_order_relaxed);
  // Older edges are overwritten; the bound also holds for a damaged ring's numbers.
  const std::uint64_t first =
      std::max(wanted, last - std::min<std::uint64_t>(last, ring::step_slots - 1));
  steps_missing_ = first - wanted;
  const std::vector<std::uint64_t> own = begins_of_own_steps();
  for (std::uint64_t step = first; step - first < ring::step_slots && step <= last; ++step) {
    const ring::StepEdge& edge = ring_.header().steps[step % ring::step_slots];
    const std::uint64_t begin = edge.begin_ticks.load(std::memory_order_relaxed);
    const std::uint64_t end = edge.end_ticks.load(std::memory_order_acquire);
    const std::uint64_t there = edge.step.load(std::memory_order_relaxed);
    // A file that was tried again, thousands of steps later. One of another number never began.
    if (there > step && (there - step) % ring::step_slots == 0) ++steps_missing_;
    if (there != step) continue;
    if (begin == 0 || begin >= end_ticks_) continue;
    if (std::binary_search(own.begin(), own.end(), begin)) continue;
    const std::int64_t begin_ns = order_.relative_ns(std::max(begin, begin_ticks_));
    const bool is_unfinished = end == 0;
    steps.push_back(
        {step, begin_ns,
         is_unfinished ? end_of_work(begin) : order_.relative_ns(std::min(end, end_ticks_)),
         is_unfinished});
  }
  return steps;
}

// Where the job's own ranges of that name are the steps: two sets of them would be two sets of
// steps to who reads the file.
std::vector<std::uint64_t> WindowMarks::begins_of_own_steps() const {
  std::vector<std::uint64_t> begins;
  for (const ThreadEvents& thread : order_.threads()) {
    for (const event::Record* record : thread.records) {
      if (record->layout != event::Layout::range) continue;
      if (!ring_.name(record->extra).starts_with(step_name)) continue;
      begins.push_back(record->begin_ticks.load(std::memory_order_relaxed));
    }
  }
  std::sort(begins.begin(), begins.end());
  return begins;
}

// Of a step that the program's end cut: after the last work that it gave to the device, and that
// work, comes what the program does at its end. A call that never returned is the step's, and so is
// all that a range holds which is the step and was never ended.
std::int64_t WindowMarks::end_of_work(std::uint64_t begin_ticks) const {
  const std::int64_t latest_ns = order_.relative_ns(end_ticks_);
  std::int64_t end_ns = order_.relative_ns(std::max(begin_ticks, begin_ticks_));
  for (const ThreadEvents& thread : order_.threads()) {
    for (const event::Record* record : thread.records) {
      const std::uint64_t end = record->end_ticks.load(std::memory_order_acquire);
      const bool is_of_step = record->layout != event::Layout::range ||
                              record->begin_ticks.load(std::memory_order_relaxed) == begin_ticks;
      if (end == 0 && is_of_step) return latest_ns;
      if (gives_work(record->layout)) end_ns = std::max(end_ns, order_.relative_ns(end));
    }
  }
  for (const DeviceSlice& slice : order_.device().slices()) {
    if (is_work(slice)) end_ns = std::max(end_ns, slice.end_ns - order_.base_ns());
  }
  return std::min(end_ns, latest_ns);
}

void WindowMarks::write_step(trace::EventWriter& writer, const StepSlice& step) const {
  writer.complete(std::string(step_name) + std::to_string(step.step), "user_annotation", steps_tid,
                  step.begin_ns, std::max<std::int64_t>(step.end_ns - step.begin_ns, 0));
  writer.arg("step", step.step);
  if (step.is_unfinished) writer.arg("unfinished", true);
  writer.end();
}

void WindowMarks::write_change(trace::EventWriter& writer, const GovernorChange& change) const {
  const auto budget = ring_.header().governor.budget_millionths.load(std::memory_order_relaxed);
  writer.instant(name_of(change, budget), "traceagent", steps_tid,
                 order_.relative_ns(change.ticks));
  writer.arg("level", change.level);
  writer.arg("left_out", names_of(change.left_out));
  writer.end();
}

void WindowMarks::put_in_order() {
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    marks_.push_back({steps_[i].begin_ns, Mark::step, i});
  }
  for (std::size_t i = 0; i < changes_.size(); ++i) {
    marks_.push_back({order_.relative_ns(changes_[i].ticks), Mark::change, i});
  }
  for (std::size_t i = 0; i < counters_.events().size(); ++i) {
    marks_.push_back({order_.relative_ns(counters_.events()[i].ticks), Mark::counter, i});
  }
  std::stable_sort(marks_.begin(), marks_.end(),
                   [](const Mark& a, const Mark& b) { return a.ts_ns < b.ts_ns; });
}

void WindowMarks::write_until(trace::EventWriter& writer, std::int64_t ts_ns) {
  for (; next_ < marks_.size() && marks_[next_].ts_ns <= ts_ns; ++next_) {
    const Mark& mark = marks_[next_];
    if (mark.kind == Mark::step) write_step(writer, steps_[mark.index]);
    if (mark.kind == Mark::change) write_change(writer, changes_[mark.index]);
    if (mark.kind == Mark::counter) {
      drain::write(writer, counters_.events()[mark.index], mark.ts_ns);
    }
  }
}

}  // namespace traceagent::drain
