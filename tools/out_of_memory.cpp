#include "tools/out_of_memory.hpp"

#include <unistd.h>

#include <exception>
#include <string_view>

#include "tools/command_line.hpp"

namespace traceagent::tools {

namespace {

void say_line(std::string_view line) noexcept {
  const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
  static_cast<void>(written);
}

}  // namespace

void say_out_of_memory() noexcept {
  say_line(
      "traceagent: out of memory: what is not told of as done is not done: free some memory\n");
}

void say_output_cut() noexcept {
  say_line("traceagent: standard output: not all was written: free some memory or disk\n");
}

void end_with_a_line_at_terminate() noexcept {
  std::set_terminate([] {
    say_out_of_memory();
    _exit(exit_bad_data);
  });
}

}  // namespace traceagent::tools
