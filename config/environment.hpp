#pragma once

#include <optional>
#include <string_view>

namespace traceagent::config {

// A view of a process's variables that tests can replace. It copies nothing: the list and its
// strings must outlive it.
class Environment {
 public:
  // A NULL-terminated list of "NAME=value", as environ; a null pointer is an empty environment.
  explicit Environment(const char* const* variables) noexcept : variables_(variables) {}

  static Environment of_process() noexcept;

  // nullopt: not set. The value's data() is NUL-terminated.
  std::optional<std::string_view> get(std::string_view name) const noexcept;

  // Calls visit(name, value) for each variable.
  template <typename Visitor>
  void for_each(Visitor&& visit) const {
    if (variables_ == nullptr) return;
    for (const char* const* at = variables_; *at != nullptr; ++at) {
      const std::string_view line = *at;
      const std::size_t equals = line.find('=');
      if (equals == std::string_view::npos) continue;
      visit(line.substr(0, equals), line.substr(equals + 1));
    }
  }

 private:
  const char* const* variables_;
};

}  // namespace traceagent::config
