// Any text as an options file: no crash, no hang, and what comes of it can be described.
#include <cstdlib>
#include <string_view>

#include "config/options.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const traceagent::config::Environment none(nullptr);
  const traceagent::config::Loaded loaded =
      traceagent::config::load_text("options.yaml", text, none);
  for (const traceagent::config::Problem& problem : loaded.problems) {
    if (problem.line.find('\n') != std::string::npos) {
      std::abort();  // a problem is one line for the user, whatever the file holds
    }
  }
  if (traceagent::config::describe(loaded.options).empty()) {
    std::abort();
  }
  return 0;
}
