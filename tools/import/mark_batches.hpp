#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace traceagent::tools {

// Composer begins each cycle with a mark of a barrier (clocks/clock_marks.hpp) and says nowhere
// which cycle that is; its events do, in their args. So the mark's line gets the epoch and the
// batch of an event that has them, of the same process, between its time and that of the process's
// next mark: "batch": [0, 40]. All ranks' marks of one barrier have the same.
class MarkBatches {
 public:
  [[nodiscard]] bool is_any_open() const { return open_ > 0; }
  // `line`: what is kept of the mark. Stays where it is until told().
  void add_mark(std::string_view pid, const std::string* line);
  // `ts`: as it stands in the event, in microseconds.
  void add_event(std::string_view pid, std::string_view ts, std::string_view event);
  // The line of a mark as it is to be told; any other as it is.
  [[nodiscard]] std::string told(const std::string* line) const;

 private:
  struct Mark {
    const std::string* line = nullptr;
    bool is_open = false;  // its batch is not known
  };
  std::map<std::string, std::map<std::int64_t, Mark>, std::less<>>
      marks_;  // by pid and time, in ns
  std::map<const std::string*, std::string> batches_;
  std::size_t open_ = 0;
  std::size_t count_ = 0;
};

// "[epoch, batch]" in the args of a mark's line; empty: it has none.
std::string batch_of_mark(std::string_view args);

}  // namespace traceagent::tools
