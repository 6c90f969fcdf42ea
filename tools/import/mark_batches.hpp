#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "tools/import/object_scan.hpp"

namespace traceagent::tools {

// Composer begins each cycle with a mark of a barrier (clocks/clock_marks.hpp) and says nowhere
// which cycle that is; its events do, in their args. So the mark's line gets the epoch and the
// batch of the first event that has them, of the same process, between its time and that of the
// process's next mark: "batch": [0, 40]. All ranks' marks of one barrier have the same.
class MarkBatches {
 public:
  [[nodiscard]] bool is_empty() const { return marks_.empty(); }
  // `line`: what is kept of the mark. Stays where it is until told().
  void add_mark(std::string_view pid, const std::string* line);
  // Of the process's events, as they come.
  void add_event(std::string_view pid, std::int64_t at_ns, const trace::JsonMembers& members);
  // The line of a mark as it is to be told; any other as it is.
  [[nodiscard]] std::string told(const std::string* line) const;

 private:
  struct Mark {
    const std::string* line = nullptr;
    std::int64_t until_ns = 0;  // only events before are looked at
    std::uint32_t searched = 0;
  };
  using Marks = std::map<std::int64_t, Mark>;  // by time, in ns

  void find_mark(std::string_view pid, std::int64_t at_ns);

  std::map<std::string, Marks, std::less<>> marks_;  // by pid
  std::map<const std::string*, std::string> batches_;
  std::size_t count_ = 0;
  // The last event's, since the next one is mostly of the same: of this process and time.
  std::string latest_pid_;
  std::int64_t latest_from_ns_ = 0;
  std::int64_t latest_until_ns_ = 0;
  Mark* latest_ = nullptr;  // or none
};

// "[epoch, batch]" in the args of a mark's line; empty: it has none.
std::string batch_of_mark(std::string_view args);

}  // namespace traceagent::tools
