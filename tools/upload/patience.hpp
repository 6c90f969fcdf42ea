#pragma once

#include <chrono>
#include <optional>

namespace traceagent::tools {

// How long to try again while nothing succeeds: from the first failure since the last success on,
// which may have taken long itself. A part of a file is a success.
class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds limit) : limit_(limit) {}

  void note_success() noexcept { failing_since_.reset(); }
  void note_failure() noexcept {
    if (!failing_since_) failing_since_ = Clock::now();
  }
  // Negative: it is over.
  std::chrono::nanoseconds left() const noexcept {
    return failing_since_ ? limit_ - (Clock::now() - *failing_since_) : limit_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds limit_;
  std::optional<Clock::time_point> failing_since_;
};

}  // namespace traceagent::tools
