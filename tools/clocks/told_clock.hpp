#pragma once
// The clock of one node, as it is told in words and in the file.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "agent/trace/json_object.hpp"
#include "tools/clocks/clock_nodes.hpp"
#include "tools/clocks/clock_tree.hpp"

namespace traceagent::tools {

struct ToldClock {
  const ClockNode* node = nullptr;
  const ClockRoute* route = nullptr;  // none: its clock is as it is
  bool is_reference = false;
  std::string method = "none";
  std::uint64_t collectives = 0;
  std::optional<std::int64_t> bound_ns = {};  // nothing: not known
  bool is_unsure = false;                     // an earlier merge was not sure of all times
};

std::string in_words(const ToldClock& told);

// All of "clocks" is one line of the file, and readers take lines of a MiB (trace::LineReader): so
// the lists of all nodes together, that may be any number of them, get a part of it.
class RoomForLists {
 public:
  [[nodiscard]] bool take(std::size_t elements, std::size_t bytes_each) {
    const std::size_t bytes = elements * bytes_each;
    if (bytes > left_bytes_) {
      return false;
    }
    left_bytes_ -= bytes;
    return true;
  }

 private:
  std::size_t left_bytes_ = 384U << 10;
};

trace::JsonObject object_of(const ToldClock& told, RoomForLists& room);

}  // namespace traceagent::tools
