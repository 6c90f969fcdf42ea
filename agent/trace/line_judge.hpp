#pragma once

#include <cstddef>
#include <string_view>

#include "agent/trace/event_shapes.hpp"
#include "agent/trace/trace_line.hpp"

namespace traceagent::trace {

// Why a line is left out (TraceReader::lost()). Lines are spliced into merged files as they stand:
// one that is broken would break all of those.
inline constexpr char not_json[] = "not_json";
inline constexpr char bad_ts[] = "bad_ts";

inline std::string_view without_comma(std::string_view line) {
  if (line.ends_with(',')) {
    line.remove_suffix(1);
  }
  return line;
}

// Judges the lines of one file's "traceEvents", one after the other.
class LineJudge {
 public:
  // `trusts`: whoever wrote the file has judged its events already (judged_folder.hpp).
  explicit LineJudge(bool trusts = false) : trusts_(trusts) {}

  // Null: it is an event or a metadata event, and `result` says all of it. Else why it is neither.
  const char* damage_of(std::string_view line, TraceLine& result);

  [[nodiscard]] bool trusts() const { return trusts_; }
  [[nodiscard]] std::size_t memory_bytes() const { return shapes_.memory_bytes(); }

 private:
  EventShapes shapes_;
  bool trusts_;
};

}  // namespace traceagent::trace
