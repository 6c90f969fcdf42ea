#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace traceagent::tools {

// " 45 %  512 MB/s  3 s left" on standard error, while that is a terminal; else nothing. Taken away
// again at the end of its life.
class ProgressBar {
 public:
  ProgressBar();
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // So many bytes are still to be done, and what is left for later.
  void expect(std::uint64_t bytes) { total_bytes_ = done_bytes_ + bytes + later_bytes_; }
  // Behind what is expected from now on: so that the bar does not go back when that begins.
  void leave_for_later(std::uint64_t bytes) { later_bytes_ = bytes; }
  // So many bytes more are done.
  void add(std::uint64_t bytes);
  // Takes it away until more is done.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;

  const bool is_terminal_;
  std::uint64_t total_bytes_ = 0;
  std::uint64_t done_bytes_ = 0;
  std::uint64_t later_bytes_ = 0;
  const Clock::time_point begin_ = Clock::now();
  Clock::time_point shown_;
  bool is_shown_ = false;
};

// What the bar says after `seconds`.
std::string progress_text(std::uint64_t done_bytes, std::uint64_t total_bytes, double seconds);

}  // namespace traceagent::tools
