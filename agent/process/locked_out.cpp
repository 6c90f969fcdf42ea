#include "agent/process/locked_out.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>

#include "agent/event/high_descriptor.hpp"
#include "agent/event/uninterrupted.hpp"

namespace traceagent::process {
namespace {

using Text = std::array<char, 160>;

// /proc/self/task/<thread>/syscall: "202 0x7f3c 0x80 0x2 0x0 ...": the number, six arguments, stack
// and program pointer; or "running". 0: it cannot be read.
std::size_t read_system_call(pid_t thread, Text& text) noexcept {
  constexpr std::string_view folder = "/proc/self/task/", name = "/syscall";
  std::array<char, 64> path{};
  char* end = std::copy(folder.begin(), folder.end(), path.data());
  end = std::to_chars(end, end + 16, thread).ptr;
  std::copy(name.begin(), name.end(), end);
  const int descriptor = event::open_high(path.data(), O_RDONLY);
  if (descriptor < 0) return 0;
  const ssize_t got =
      event::uninterrupted([&] { return read(descriptor, text.data(), text.size()); });
  close(descriptor);
  return got > 0 ? static_cast<std::size_t>(got) : 0;
}

// The next number of the line, decimal or with 0x.
bool take_number(std::string_view& line, std::uint64_t& number) noexcept {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  const bool is_hexadecimal = line.starts_with("0x");
  const char* const begin = line.data() + (is_hexadecimal ? 2 : 0);
  const auto [end, error] =
      std::from_chars(begin, line.data() + line.size(), number, is_hexadecimal ? 16 : 10);
  line.remove_prefix(static_cast<std::size_t>(end - line.data()));
  return error == std::errc();
}

bool is_wait_without_end(std::string_view line) noexcept {
  std::uint64_t call = 0, word = 0, operation = 0, value = 0, timeout = 0;
  for (std::uint64_t* const each : {&call, &word, &operation, &value, &timeout}) {
    if (!take_number(line, *each)) return false;
  }
  const std::uint64_t command = operation & static_cast<std::uint64_t>(FUTEX_CMD_MASK);
  return call == SYS_futex && timeout == 0 &&
         (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET || command == FUTEX_LOCK_PI);
}

}  // namespace

std::uint64_t LockedOut::look(pid_t thread) noexcept {
  Text text;
  const std::size_t size = read_system_call(thread, text);
  const bool is_same = size == size_ && std::memcmp(text.data(), before_.data(), size) == 0;
  const bool is_waiting = size > 0 && is_wait_without_end({text.data(), size});
  before_ = text;
  size_ = size;
  return looks_ = is_waiting ? (is_same ? looks_ : 0) + 1 : 0;
}

}  // namespace traceagent::process
