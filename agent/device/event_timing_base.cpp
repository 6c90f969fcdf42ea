#include "agent/device/event_timing_base.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "agent/event/ticks.hpp"

namespace traceagent::device {
namespace {

constexpr std::int64_t period_ns = 1'000'000'000;
// Asking ends here: with CUDA_DEVICE_MAX_CONNECTIONS=1 our stream may queue behind the job's.
constexpr std::int64_t patience_ns = 200'000;
constexpr int tries = 3;
// How fast the device's clock may run away from the machine's: crystals are good to 20 ppm.
constexpr double drift = 20e-6;
// cudaEventElapsedTime() says milliseconds in a float of 24 bits.
constexpr double float_rounding = 1.0 / (1 << 24);

std::int64_t wall_ns() noexcept {
  return static_cast<std::int64_t>(event::clock_ns(CLOCK_REALTIME));
}

std::int64_t drift_ns(std::int64_t span_ns) noexcept {
  return static_cast<std::int64_t>(static_cast<double>(std::abs(span_ns)) * drift);
}

}  // namespace

bool EventBase::prepare() noexcept {
  if (api_.create_stream(&stream_, cudaStreamNonBlocking) != cudaSuccess) return false;
  for (Base& base : bases_) {
    if (api_.create_event(&base.event, cudaEventDefault) != cudaSuccess) return false;
  }
  return true;
}

// The device reached the event between the moment before it was recorded and the answer that it has
// happened.
EventBase::Take EventBase::measure(cudaEvent_t event, Base& base) noexcept {
  const std::int64_t before_ns = wall_ns();
  if (api_.record(event, stream_) != cudaSuccess) return Take::refused;
  for (;;) {
    const cudaError_t answer = api_.query(event);
    const std::int64_t after_ns = wall_ns();
    if (answer == cudaSuccess) {
      const std::int64_t half_ns = (after_ns - before_ns + 1) / 2;
      base = {event, before_ns + half_ns, half_ns};
      return Take::taken;
    }
    if (answer != cudaErrorNotReady) return Take::refused;
    if (after_ns - before_ns > patience_ns) return Take::busy;
  }
}

bool EventBase::renew(std::int64_t now_ns) noexcept {
  // A wall clock that was set back must not stop it.
  if (now_ns < next_ns_ && next_ns_ - now_ns <= period_ns) return true;
  Base& place = bases_[count_ % bases_.size()];
  Base& next = bases_[(count_ + 1) % bases_.size()];
  // The tightest of a few: a try in which this thread lost its core is wide. Two events take turns:
  // a try that loses must not take the winner's time.
  Base best{};
  for (int i = 0; i < tries; ++i) {
    Base tried{};
    const Take take = measure(best.event == place.event ? next.event : place.event, tried);
    if (take == Take::refused) return false;
    if (take == Take::busy) break;
    if (best.event == nullptr || tried.error_ns < best.error_ns) best = tried;
  }
  if (best.event == nullptr) return true;
  if (best.event == next.event) next.event = place.event;
  place = best;
  ++count_;
  next_ns_ = now_ns + period_ns;
  return true;
}

const EventBase::Base& EventBase::nearest(std::int64_t recorded_ns) const noexcept {
  // The two places after the newest are the next measurement's, finished or not.
  const std::size_t known = std::min(count_, bases_.size() - 2);
  const Base* best = nullptr;
  std::int64_t least_ns = 0;
  for (std::size_t i = 1; i <= known; ++i) {
    const Base& base = bases_[(count_ - i) % bases_.size()];
    const std::int64_t error_ns = base.error_ns + drift_ns(recorded_ns - base.wall_ns);
    if (best == nullptr || error_ns < least_ns) {
      best = &base;
      least_ns = error_ns;
    }
  }
  return *best;
}

namespace {
// std::llround would make the library need libm.
std::int64_t rounded(double ns) noexcept {
  return static_cast<std::int64_t>(ns < 0 ? ns - 0.5 : ns + 0.5);
}
}  // namespace

std::optional<EventTimes> EventBase::times_of(cudaEvent_t start, cudaEvent_t end,
                                              std::int64_t recorded_ns) const noexcept {
  if (!is_known()) return std::nullopt;
  const Base& base = nearest(recorded_ns);
  float since_base_ms = 0, length_ms = 0;
  if (api_.elapsed_ms(&since_base_ms, base.event, start) != cudaSuccess) return std::nullopt;
  if (api_.elapsed_ms(&length_ms, start, end) != cudaSuccess) return std::nullopt;
  const double since_base_ns = static_cast<double>(since_base_ms) * 1e6;
  EventTimes times{};
  times.start_ns = base.wall_ns + rounded(since_base_ns);
  const double length_ns = std::max(0.0, static_cast<double>(length_ms) * 1e6);
  times.end_ns = times.start_ns + rounded(length_ns);
  // The end carries the error of the start and that of the length: one bound for both.
  const double widest_ns = std::abs(since_base_ns) + length_ns;
  times.error_ns = base.error_ns + elapsed_error_ns +
                   static_cast<std::int64_t>(widest_ns * (drift + float_rounding)) + 1;
  return times;
}

}  // namespace traceagent::device
