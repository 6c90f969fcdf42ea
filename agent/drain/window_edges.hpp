#pragma once
// To which of a ring's windows a moment belongs, so that no device work lies in two files.

#include <cstdint>
#include <vector>

#include "agent/event/clock_anchor.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::drain {

enum class When { in_window, in_earlier_window, before, after };

class WindowEdges {
 public:
  WindowEdges(const ring::Ring& ring, const event::TickConverter& clock,
              const ring::Window& window);

  std::int64_t begin_ns() const noexcept { return begin_ns_; }
  std::int64_t end_ns() const noexcept { return end_ns_; }

  // `before`: before this window and in no other that was recorded.
  When of_moment(std::int64_t at_ns) const noexcept;
  When of_ticks(std::uint64_t ticks) const noexcept;
  // Work whose launch is in no window belongs to the first window that it overlaps.
  bool is_first_to_overlap(std::int64_t start_ns, std::int64_t end_ns) const noexcept;

 private:
  struct Span {
    std::uint64_t begin_ticks, end_ticks;
    std::int64_t begin_ns, end_ns;
  };
  std::uint64_t begin_ticks_, end_ticks_;
  std::int64_t begin_ns_, end_ns_;
  std::vector<Span> earlier_;
};

}  // namespace traceagent::drain
