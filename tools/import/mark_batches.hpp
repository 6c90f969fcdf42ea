#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::tools {

// Composer begins each cycle with a mark of a barrier (clocks/clock_marks.hpp) and says nowhere
// which cycle that is; its events do, in their args. So the mark's line gets the epoch and the
// batch of the first event behind it that has them, of the same process: "batch": [0, 40]. All
// ranks' marks of one barrier have the same.
class MarkBatches {
 public:
  [[nodiscard]] bool is_any_open() const { return !open_.empty(); }
  // `line`: what is kept of the mark. Stays where it is until told().
  void add_mark(std::string_view pid, const std::string* line);
  void add_event(std::string_view pid, std::string_view event);
  // The line of a mark as it is to be told; any other as it is.
  [[nodiscard]] std::string told(const std::string* line) const;

 private:
  struct Open {
    std::string pid;
    const std::string* line;
    std::uint64_t events_left;
  };
  std::vector<Open> open_;
  std::map<const std::string*, std::string> batches_;
};

// "[epoch, batch]" in the args of a mark's line; empty: it has none.
std::string batch_of_mark(std::string_view args);

}  // namespace traceagent::tools
