// Prints config/README.md.
#include <cstdio>

#include "config/reference.hpp"

int main() {
  const std::string text = traceagent::config::options_reference_markdown();
  const bool is_written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return is_written && std::fflush(stdout) == 0 ? 0 : 1;
}
