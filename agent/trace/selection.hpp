#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "agent/trace/json_object.hpp"
#include "agent/trace/trace_reader.hpp"

namespace traceagent::trace {

struct MergeInput;

// Judges the events of one input, in the order of the file.
class EventFilter {
 public:
  virtual ~EventFilter() = default;
  // Whether the event is wanted. May replace the line by another (valid until the next call) and
  // move its time, which must not go back from call to call.
  virtual bool keeps(TraceLine& line, std::int64_t& absolute_ns) = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
};

// What of its inputs a merge takes (traceagent merge --rank, --time, ...). All is asked for in the
// course of the merge, from its thread.
class Selection {
 public:
  virtual ~Selection() = default;
  [[nodiscard]] virtual bool has_rank(std::int64_t rank) const = 0;
  [[nodiscard]] virtual bool has_all_ranks() const = 0;
  // All inputs of the merge, before the first filter is asked for. They outlive the filters.
  virtual void see(const std::vector<MergeInput>& inputs) = 0;
  // Null: all events of the input are wanted. The input may be read for it.
  virtual std::unique_ptr<EventFilter> filter_of(const MergeInput& input) = 0;
  // What is left out whatever the rank, for the merged file's header: {"time": ...}; empty: nothing
  // is. A file that says so holds only a part of its sources.
  [[nodiscard]] virtual JsonObject description() const = 0;
  // What was left out, for the merged file's metadata; asked for after the last event.
  [[nodiscard]] virtual JsonObject left_out() const = 0;
  // Of those that are in: made shorter, or moved to the edge. Likewise.
  [[nodiscard]] virtual std::uint64_t clipped() const = 0;
};

}  // namespace traceagent::trace
