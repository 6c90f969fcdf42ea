#pragma once
// What stands in a window's file beside calls and device work: its steps, what the governor did (on
// the same lane, so that it is seen where something is missing), and counters.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/drain/counter_events.hpp"
#include "agent/drain/governor_changes.hpp"
#include "agent/drain/window_order.hpp"
#include "agent/ring/ring.hpp"
#include "agent/trace/event_writer.hpp"

namespace traceagent::drain {

class WindowMarks {
 public:
  // They must live as long as this.
  WindowMarks(const ring::Ring& ring, const ring::Window& window, const WindowOrder& order,
              const CounterEvents& counters);

  void write_lane_name(trace::EventWriter& writer) const;
  // Those up to then that are not written yet.
  void write_until(trace::EventWriter& writer, std::int64_t ts_ns);
  // Steps of the window that the ring does not know any more.
  std::uint64_t steps_missing() const noexcept { return steps_missing_; }

 private:
  struct StepSlice {
    std::uint64_t step;
    std::int64_t begin_ns;
    std::int64_t end_ns;
    bool is_unfinished;  // nobody saw its end
  };

  // One of the others of its kind, at its place.
  struct Mark {
    std::int64_t ts_ns;
    enum Kind : std::uint8_t { step, change, counter } kind;
    std::size_t index;
  };

  std::vector<StepSlice> steps_of(const ring::Window& window);
  std::vector<std::uint64_t> begins_of_own_steps() const;
  std::int64_t end_of_work(std::uint64_t begin_ticks) const;
  void write_step(trace::EventWriter& writer, const StepSlice& step) const;
  void write_change(trace::EventWriter& writer, const GovernorChange& change) const;
  void put_in_order();

  const ring::Ring ring_;
  const std::uint64_t begin_ticks_, end_ticks_;
  const WindowOrder& order_;
  const CounterEvents& counters_;
  std::uint64_t steps_missing_ = 0;  // found with steps_
  std::vector<StepSlice> steps_;
  std::vector<GovernorChange> changes_;  // in this window
  std::vector<Mark> marks_;
  std::size_t next_ = 0;
};

}  // namespace traceagent::drain
