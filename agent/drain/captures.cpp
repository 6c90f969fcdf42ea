#include "agent/drain/captures.hpp"

#include <algorithm>

#include "agent/api/function.hpp"

namespace traceagent::drain {

using event::Record;

bool Captures::hold(std::uint32_t thread, std::int64_t at_ns) {
  std::optional<Spans>& spans = of_threads_[thread];
  if (!spans) spans = find(threads_[thread]);
  return std::any_of(spans->begin(), spans->end(), [at_ns](const auto& span) {
    return span.first <= at_ns && at_ns <= span.second;
  });
}

Captures::Spans Captures::find(const ThreadEvents& thread) const {
  Spans spans;
  for (const Record* record : thread.records) {
    const auto& name = api::name_of(static_cast<api::Function>(record->function)).shown;
    const bool begins = name == "cudaStreamBeginCapture" || name == "cuStreamBeginCapture";
    const bool ends = name == "cudaStreamEndCapture" || name == "cuStreamEndCapture";
    if (!begins && !ends) continue;
    const std::int64_t at_ns =
        clock_.realtime_ns(record->begin_ticks.load(std::memory_order_relaxed));
    if (begins && record->result == 0) spans.emplace_back(at_ns, INT64_MAX);
    // The first of a thread's, without a begin: it was capturing when the window began.
    if (!begins && spans.empty() && record->result == 0) spans.emplace_back(INT64_MIN, at_ns);
    if (!begins && !spans.empty()) spans.back().second = at_ns;
  }
  return spans;
}

}  // namespace traceagent::drain
