#pragma once
// The slices of one thread in nanoseconds, walked along with its calls as CUPTI saw them.

#include <cstdint>
#include <vector>

#include "agent/event/clock_anchor.hpp"
#include "agent/event/record.hpp"

namespace traceagent::drain {

struct HostSpan {
  std::int64_t begin_ns, end_ns;  // INT64_MAX: still running
  const event::Record* record;
  std::uint32_t index;  // in the thread's records; no_index: of an earlier window
  bool is_cuda;         // a call of the runtime's or driver's, of any kind
  bool is_nccl;

  bool holds(std::int64_t at_ns) const noexcept { return begin_ns <= at_ns && at_ns < end_ns; }
};

HostSpan span_of(const event::Record& record, std::uint32_t index,
                 const event::TickConverter& clock);

// Spans by begin; a window over them that moves forward.
class SpanWalk {
 public:
  explicit SpanWalk(const std::vector<HostSpan>& spans) : spans_(spans) {}

  // What overlaps [from, to), with `from` never smaller than before but for calls within calls.
  // Valid until the next call. At most `most_open` that began before, of the latest.
  const std::vector<const HostSpan*>& overlapping(std::int64_t from_ns, std::int64_t to_ns);

 private:
  static constexpr std::size_t most_open = 64;

  const std::vector<HostSpan>& spans_;
  std::size_t next_ = 0;
  std::vector<const HostSpan*> open_;  // begun at or before the latest `to`, not ended by `from`
  std::vector<const HostSpan*> found_;
};

}  // namespace traceagent::drain
