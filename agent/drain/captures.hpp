#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/drain/window_events.hpp"
#include "agent/event/clock_anchor.hpp"

namespace traceagent::drain {

// When a thread was capturing: what it launches then is done when the graph is launched. Found out
// where it is asked for: there are few such threads.
class Captures {
 public:
  // Both outlive this object.
  Captures(const std::vector<ThreadEvents>& threads, const event::TickConverter& clock)
      : threads_(threads), clock_(clock), of_threads_(threads.size()) {}

  bool hold(std::uint32_t thread, std::int64_t at_ns);

 private:
  using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;

  Spans find(const ThreadEvents& thread) const;

  const std::vector<ThreadEvents>& threads_;
  const event::TickConverter& clock_;
  std::vector<std::optional<Spans>> of_threads_;
};

}  // namespace traceagent::drain
