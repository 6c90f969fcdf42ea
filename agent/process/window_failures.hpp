#pragma once

#include <cstdint>
#include <string>

namespace traceagent::process {

struct Agent;

// Windows that could not be written: counted each, said once.
class WindowFailures {
 public:
  explicit WindowFailures(const Agent& agent) noexcept : agent_(agent) {}

  void count() noexcept { ++number_; }
  // Each counts one too.
  void say_too_large(const std::string& path);
  void say_failed(const std::string& problem);
  void say_over_memory_budget() noexcept;
  void say_out_of_memory() noexcept;

  std::uint64_t number() const noexcept { return number_; }

 private:
  const Agent& agent_;
  std::uint64_t number_ = 0;
};

}  // namespace traceagent::process
