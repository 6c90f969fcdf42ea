#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "agent/device/capture_spans.hpp"
#include "agent/drain/launch_match.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/event/clock_anchor.hpp"

namespace traceagent::drain {

// What was captured into a graph: it is done when the graph is launched. Begins and ends are known
// by our own records and by CUPTI's, which are there too where the governor leaves our calls of
// streams out. Found out where it is asked for: few jobs capture.
class Captures {
 public:
  // All outlive this object.
  Captures(const ring::Ring& ring, const std::vector<ThreadEvents>& threads,
           const std::vector<Launch>& launches, const event::TickConverter& clock)
      : ring_(ring), threads_(threads), launches_(launches), clock_(clock) {}

  // A launch by this thread, an index; `host`: our own record of it, null where there is none.
  bool hold(std::uint32_t thread, const event::Record* host, std::int64_t at_ns);

 private:
  std::vector<device::CaptureEdge> edges() const;
  void add_own(std::uint32_t thread, std::vector<device::CaptureEdge>& edges) const;

  const ring::Ring& ring_;
  const std::vector<ThreadEvents>& threads_;
  const std::vector<Launch>& launches_;
  const event::TickConverter& clock_;
  std::optional<device::CaptureSpans> spans_;
};

}  // namespace traceagent::drain
