#include "config/environment.hpp"

#include <unistd.h>

namespace traceagent::config {

Environment Environment::of_process() noexcept { return Environment(environ); }

std::optional<std::string_view> Environment::get(std::string_view name) const noexcept {
  std::optional<std::string_view> found;
  for_each([&](std::string_view candidate, std::string_view value) {
    // The first one counts when a name is there twice, as for getenv.
    if (!found && candidate == name) found = value;
  });
  return found;
}

}  // namespace traceagent::config
