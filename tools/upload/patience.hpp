#pragma once

#include <chrono>

namespace traceagent::tools {

// How long to try again while nothing succeeds: from the last success on. A part of a file is one.
class Patience {
 public:
  explicit Patience(std::chrono::nanoseconds limit) : limit_(limit) {}

  void note_success() noexcept { last_success_ = Clock::now(); }
  // Negative: it is over.
  std::chrono::nanoseconds left() const noexcept { return limit_ - (Clock::now() - last_success_); }

 private:
  using Clock = std::chrono::steady_clock;
  const std::chrono::nanoseconds limit_;
  Clock::time_point last_success_ = Clock::now();
};

}  // namespace traceagent::tools
