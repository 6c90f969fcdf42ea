#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace traceagent::tools {

// The last problem of each place that files go to (place_of(Upload)), the newest first.
class Problems {
 public:
  void note(const std::string& place, const std::string& problem);
  [[nodiscard]] bool has(const std::string& place) const;
  // Nothing waits for it any more.
  void forget(const std::string& place);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  // A line each; `what_waits` behind the first, which is all that the agent reads out at the end
  // of the job.
  [[nodiscard]] std::string text(const std::string& what_waits) const;

 private:
  // Names that are in a target make a place of each cycle.
  static constexpr std::size_t most = 8;
  std::vector<std::pair<std::string, std::string>> all_;
};

}  // namespace traceagent::tools
