#include "agent/drain/captures.hpp"

#include <algorithm>
#include <string_view>

#include "agent/api/function.hpp"

namespace traceagent::drain {

using event::Record;

namespace {

// With whatever suffix: CUPTI's names may have one.
bool begins_capture(std::string_view name) noexcept {
  return name.starts_with("cudaStreamBeginCapture") || name.starts_with("cuStreamBeginCapture");
}
bool ends_capture(std::string_view name) noexcept {
  return name.starts_with("cudaStreamEndCapture") || name.starts_with("cuStreamEndCapture");
}

}  // namespace

bool Captures::hold(std::uint32_t thread, std::int64_t at_ns) {
  std::optional<Spans>& spans = of_threads_[thread];
  if (!spans) spans = find(thread);
  return std::any_of(spans->begin(), spans->end(), [at_ns](const auto& span) {
    return span.first <= at_ns && at_ns <= span.second;
  });
}

std::vector<Captures::Edge> Captures::edges_of(std::uint32_t thread) const {
  std::vector<Edge> edges;
  const auto add = [&edges](std::string_view name, std::int64_t at_ns, bool succeeded) {
    if (begins_capture(name) || ends_capture(name)) {
      edges.push_back({at_ns, begins_capture(name), succeeded});
    }
  };
  for (const Record* record : threads_[thread].records) {
    add(api::name_of(static_cast<api::Function>(record->function)).shown,
        clock_.realtime_ns(record->begin_ticks.load(std::memory_order_relaxed)),
        record->result == 0);
  }
  for (const Launch& launch : launches_) {
    // Each call once: ours where we have it, and not the driver's within the runtime's.
    const bool is_known = launch.host_record != nullptr || launch.outer != no_index;
    if (launch.thread != thread || is_known) continue;
    const event::ApiCall call = event::api_call_of(*launch.api);
    add(ring_.name(call.name), launch.start_ns, call.result == 0);
  }
  std::stable_sort(edges.begin(), edges.end(),
                   [](const Edge& a, const Edge& b) { return a.at_ns < b.at_ns; });
  return edges;
}

Captures::Spans Captures::find(std::uint32_t thread) const {
  Spans spans;
  for (const Edge& edge : edges_of(thread)) {
    if (edge.begins && edge.succeeded) spans.emplace_back(edge.at_ns, INT64_MAX);
    // The first of a thread's, without a begin: it was capturing when the window began.
    if (!edge.begins && spans.empty() && edge.succeeded) {
      spans.emplace_back(INT64_MIN, edge.at_ns);
    }
    if (!edge.begins && !spans.empty()) spans.back().second = edge.at_ns;
  }
  return spans;
}

}  // namespace traceagent::drain
