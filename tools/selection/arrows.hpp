#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "tools/selection/verdicts.hpp"

namespace traceagent::tools {

// Keeps an arrow's points only where both its ends are kept; the same id may be used again, and one
// start may have several ends. Memory is bounded: of more arrows at a time than `most_open` the
// oldest are given up, which means that they keep no further end.
class Arrows {
 public:
  static constexpr std::size_t usual_most_open = std::size_t{1} << 16;

  explicit Arrows(Verdicts& verdicts, std::size_t most_open = usual_most_open)
      : verdicts_(verdicts), most_open_(most_open) {}

  // `index`: of the point among the verdicts; `verdict`: of the slice that it stands at.
  void start(std::uint64_t id, std::size_t index, Verdict verdict);
  void step(std::uint64_t id, std::size_t index, Verdict verdict);
  void end(std::uint64_t id, std::size_t index, Verdict verdict);

 private:
  struct Open {
    std::uint64_t serial = 0;
    std::vector<std::size_t> waiting;  // points that an end will keep
  };

  Verdicts& verdicts_;
  const std::size_t most_open_;
  std::unordered_map<std::uint64_t, Open> open_;
  std::deque<std::pair<std::uint64_t, std::uint64_t>> oldest_;  // id, serial
  std::uint64_t serial_ = 0;
};

}  // namespace traceagent::tools
