#include "agent/process/notices.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>

namespace traceagent::process {
namespace {

constinit std::atomic<Talk> talk_level{Talk::normal};

constexpr std::string_view prefix = "traceagent: ";

// One write() for the whole line, so that ranks that share a terminal do not mix theirs. No stdio:
// its lock may be held by the thread that is exiting.
void write_line(std::string_view line) noexcept {
  std::array<char, 2048> text;
  std::size_t size = prefix.size();
  std::memcpy(text.data(), prefix.data(), size);
  const std::size_t room = text.size() - size - 1;
  for (const char c : line.substr(0, room)) {
    const auto byte = static_cast<unsigned char>(c);
    text[size++] = byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  text[size++] = '\n';
  const int saved_errno = errno;
  ssize_t written = 0;
  do {
    written = write(STDERR_FILENO, text.data(), size);
  } while (written < 0 && errno == EINTR);
  errno = saved_errno;
}

}  // namespace

void set_talk(Talk talk) noexcept { talk_level.store(talk, std::memory_order_relaxed); }

void say_problem(std::string_view line) noexcept {
  if (talk_level.load(std::memory_order_relaxed) >= Talk::quiet) write_line(line);
}

void say_result(std::string_view line) noexcept {
  if (talk_level.load(std::memory_order_relaxed) >= Talk::normal) write_line(line);
}

void say_detail(std::string_view line) noexcept {
  if (talk_level.load(std::memory_order_relaxed) >= Talk::verbose) write_line(line);
}

}  // namespace traceagent::process
