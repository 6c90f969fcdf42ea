#include "tools/progress_bar.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>

#include "tools/quantities.hpp"

namespace traceagent::tools {

ProgressBar::ProgressBar() : is_terminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() { clear(); }

void ProgressBar::clear() {
  if (is_shown_) {
    std::fputs("\r\033[K", stderr);
  }
  is_shown_ = false;
}

void ProgressBar::add(std::uint64_t bytes) {
  done_bytes_ += bytes;
  const Clock::time_point now = Clock::now();
  if (!is_terminal_ || now - shown_ < std::chrono::milliseconds(100)) {
    return;
  }
  shown_ = now;
  is_shown_ = true;
  const double seconds = std::chrono::duration<double>(now - begin_).count();
  std::fprintf(stderr, "\r%s\033[K", progress_text(done_bytes_, total_bytes_, seconds).c_str());
}

std::string progress_text(std::uint64_t done_bytes, std::uint64_t total_bytes, double seconds) {
  // Files that turn out not to be needed make it less.
  const double done = static_cast<double>(std::min(done_bytes, total_bytes));
  const double total = static_cast<double>(std::max<std::uint64_t>(total_bytes, 1));
  const double rate = done / std::max(seconds, 1e-3);
  const double left_s = rate > 0 ? (total - done) / rate : 0;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%3.0f %%  %.0f MB/s  ", 100 * done / total, rate / 1e6);
  return text.data() + age_in_words(static_cast<std::int64_t>(left_s * 1e9)) + " left";
}

}  // namespace traceagent::tools
