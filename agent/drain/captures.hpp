#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "agent/drain/launch_match.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/event/clock_anchor.hpp"

namespace traceagent::drain {

// When a thread was capturing: what it launches then is done when the graph is launched. Begins and
// ends are known by our own records and by CUPTI's, which are there too where the governor leaves
// our calls of streams out. Found out where it is asked for: there are few such threads.
class Captures {
 public:
  // All outlive this object.
  Captures(const ring::Ring& ring, const std::vector<ThreadEvents>& threads,
           const std::vector<Launch>& launches, const event::TickConverter& clock)
      : ring_(ring),
        threads_(threads),
        launches_(launches),
        clock_(clock),
        of_threads_(threads.size()) {}

  bool hold(std::uint32_t thread, std::int64_t at_ns);

 private:
  using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;
  struct Edge {
    std::int64_t at_ns;
    bool begins, succeeded;
  };

  std::vector<Edge> edges_of(std::uint32_t thread) const;
  Spans find(std::uint32_t thread) const;

  const ring::Ring& ring_;
  const std::vector<ThreadEvents>& threads_;
  const std::vector<Launch>& launches_;
  const event::TickConverter& clock_;
  std::vector<std::optional<Spans>> of_threads_;
};

}  // namespace traceagent::drain
