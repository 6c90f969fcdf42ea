#include "agent/drain/host_spans.hpp"

#include <algorithm>

#include "agent/api/function.hpp"

namespace traceagent::drain {

HostSpan span_of(const event::Record& record, std::uint32_t index,
                 const event::TickConverter& clock) {
  const std::uint64_t end = record.end_ticks.load(std::memory_order_acquire);
  const auto category = api::name_of(static_cast<api::Function>(record.function)).category;
  HostSpan span;
  span.begin_ns = clock.realtime_ns(record.begin_ticks.load(std::memory_order_relaxed));
  span.end_ns = end != 0 ? clock.realtime_ns(end) : INT64_MAX;
  span.record = &record;
  span.index = index;
  span.is_cuda = category.starts_with("cuda_");
  span.is_nccl = category == "nccl";
  return span;
}

const std::vector<const HostSpan*>& SpanWalk::overlapping(std::int64_t from_ns,
                                                          std::int64_t to_ns) {
  std::erase_if(open_, [from_ns](const HostSpan* span) { return span->end_ns <= from_ns; });
  for (; next_ < spans_.size() && spans_[next_].begin_ns < to_ns; ++next_) {
    if (spans_[next_].end_ns > from_ns) open_.push_back(&spans_[next_]);
  }
  if (open_.size() > most_open) open_.erase(open_.begin(), open_.end() - most_open);
  found_.clear();
  std::copy_if(open_.begin(), open_.end(), std::back_inserter(found_),
               [to_ns](const HostSpan* span) { return span->begin_ns < to_ns; });
  return found_;
}

}  // namespace traceagent::drain
