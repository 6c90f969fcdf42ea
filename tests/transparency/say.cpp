#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>

#include "tests/transparency/work.hpp"

namespace traceagent::transparency {

// In a file of its own: who only speaks is not linked to CUDA.
void say(const char* format, ...) {
  char text[4096];
  va_list values;
  va_start(values, format);
  const int size = std::vsnprintf(text, sizeof text, format, values);
  va_end(values);
  if (size <= 0) return;
  const auto bytes = std::min(static_cast<std::size_t>(size), sizeof text - 1);
  const int saved_errno = errno;
  if (write(STDOUT_FILENO, text, bytes) < 0) errno = saved_errno;
}

}  // namespace traceagent::transparency
