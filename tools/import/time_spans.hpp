#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace traceagent::tools {

// From when until when there are events, again and again.
class TimeSpans {
 public:
  static constexpr std::int64_t pause_ns = 500'000'000;  // a longer one ends a span
  static constexpr std::size_t most_spans = 200;

  // Times in any order.
  void add(std::int64_t ns) {
    if (!bounds_ns_.empty() && ns >= bounds_ns_.back() && ns - bounds_ns_.back() <= pause_ns)
        [[likely]] {
      bounds_ns_.back() = ns;
    } else {
      add_elsewhere(ns);
    }
  }

  // Begin and end of each, in order; empty: there are too many.
  [[nodiscard]] const std::vector<std::int64_t>& bounds_ns() const { return bounds_ns_; }

 private:
  void add_elsewhere(std::int64_t ns);

  std::vector<std::int64_t> bounds_ns_;
  bool is_full_ = false;
};

}  // namespace traceagent::tools
