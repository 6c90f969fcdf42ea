#pragma once
// What was sampled in a window, as the trace shows it: values that were read, and rates of totals
// between two readings, from the first of them on.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "agent/counters/record.hpp"
#include "agent/event/clock_anchor.hpp"
#include "agent/ring/ring.hpp"
#include "agent/trace/event_writer.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::drain {

struct CounterEvent {
  std::uint64_t ticks;  // within the window
  counters::Counter counter;
  std::uint32_t instance;
  std::string series;  // members of "args", as JSON text
};

class CounterEvents {
 public:
  CounterEvents(const ring::Ring& ring, std::uint64_t begin_ticks, std::uint64_t end_ticks,
                const event::TickConverter& clock);

  // In order of time.
  const std::vector<CounterEvent>& events() const noexcept { return events_; }
  // The value of "counters", nothing where nothing was sampled: {"samples": 12, "not_covered":
  // ["GPU counters: …"], "gpus": [{…}]}.
  trace::JsonObject describe(const ring::Ring& ring) const;

 private:
  struct Read {
    std::uint64_t ticks;
    std::int64_t ns;  // realtime
    counters::Sample sample;
  };
  using Of = std::pair<counters::Counter, std::uint32_t>;
  struct NoteText {
    std::uint64_t ticks;
    counters::Note note;
  };

  void collect(const ring::Ring& ring);
  void add_sample(const event::Record& record, std::uint64_t ticks);
  void in_order(std::vector<Read>& reads, const event::TickConverter& clock) const;
  void add_events(const Of& of, const std::vector<Read>& reads);
  static std::size_t rate_end(const std::vector<Read>& reads, std::size_t begin) noexcept;

  const std::uint64_t begin_ticks_, end_ticks_, until_ticks_;
  std::map<Of, std::vector<Read>> reads_;
  std::vector<NoteText> notes_;
  std::vector<CounterEvent> events_;
  std::size_t samples_ = 0;
};

// The members of "args" of a sample and the next one of the same counter, which may be null.
// "" where nothing is known: totals that go backwards have no rate.
std::string series_of(const counters::Sample& sample, const counters::Sample* next, double seconds);

// "GPU 0 power W"
std::string name_of(const CounterEvent& event);
void write(trace::EventWriter& writer, const CounterEvent& event, std::int64_t ts_ns);

}  // namespace traceagent::drain
