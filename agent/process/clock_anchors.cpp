#include "agent/process/clock_anchors.hpp"

#include <algorithm>

#include "agent/event/clock_anchor.hpp"
#include "agent/process/notices.hpp"
#include "agent/ring/anchors.hpp"

namespace traceagent::process {

namespace {
constexpr std::uint64_t longest_period_ns = 1'000'000'000;
}  // namespace

void ClockAnchors::take(const ring::Ring& ring, std::uint64_t now_ns) noexcept {
  if (now_ns < next_ns_) return;
  const event::ClockAnchor anchor = event::take_anchor();
  ring::add_anchor(ring.header(), anchor);
  if (anchor.realtime_ns == 0 && !has_said_) {
    has_said_ = true;
    say_problem(
        "clock_gettime is refused since the start: times drift against the device's: allow the "
        "job to read the clocks");
  }
  next_ns_ = now_ns + period_ns_;
  // At doubling distances: no rate has to last for much longer than it was measured.
  period_ns_ = std::min(period_ns_ * 2, longest_period_ns);
}

std::uint64_t ClockAnchors::next_in_ns(std::uint64_t now_ns) const noexcept {
  if (period_ns_ == longest_period_ns) return UINT64_MAX;
  return next_ns_ - std::min(next_ns_, now_ns);
}

}  // namespace traceagent::process
