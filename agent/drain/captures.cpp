#include "agent/drain/captures.hpp"

#include <string_view>

#include "agent/api/function.hpp"

namespace traceagent::drain {

using device::CaptureEdge;
using event::Layout;
using event::Record;

namespace {

// With whatever suffix: CUPTI's names may have one.
bool begins_capture(std::string_view name) noexcept {
  return name.starts_with("cudaStreamBeginCapture") || name.starts_with("cuStreamBeginCapture");
}
bool ends_capture(std::string_view name) noexcept {
  return name.starts_with("cudaStreamEndCapture") || name.starts_with("cuStreamEndCapture");
}

bool has_stream(const Record* host) noexcept {
  if (host == nullptr) return false;
  return (host->layout >= Layout::launch && host->layout <= Layout::event) ||
         host->layout == Layout::graph || host->layout == Layout::collective;
}

}  // namespace

bool Captures::hold(std::uint32_t thread, const Record* host, std::int64_t at_ns) {
  if (!spans_) spans_.emplace(edges());
  const std::uint64_t stream =
      has_stream(host) ? device::stream_of_handle(host->args[3]) : device::unknown_stream;
  return spans_->hold(thread, stream, at_ns);
}

void Captures::add_own(std::uint32_t thread, std::vector<CaptureEdge>& edges) const {
  for (const Record* record : threads_[thread].records) {
    if (record->layout != Layout::stream) continue;
    const std::string_view name = api::name_of(static_cast<api::Function>(record->function)).shown;
    const bool begins = begins_capture(name);
    if (!begins && !ends_capture(name)) continue;
    const std::uint64_t end_ticks = record->end_ticks.load(std::memory_order_relaxed);
    if (end_ticks == 0) continue;  // what it will say is not known yet
    edges.push_back({thread, device::stream_of_handle(record->args[3]),
                     clock_.realtime_ns(record->begin_ticks.load(std::memory_order_relaxed)),
                     clock_.realtime_ns(end_ticks), record->result, begins});
  }
}

std::vector<CaptureEdge> Captures::edges() const {
  std::vector<CaptureEdge> edges;
  for (std::uint32_t thread = 0; thread < threads_.size(); ++thread) add_own(thread, edges);
  for (const Launch& launch : launches_) {
    // Each call once: ours where we have it, and not the driver's within the runtime's.
    if (launch.host != no_index || launch.outer != no_index) continue;
    const event::ApiCall call = event::api_call_of(*launch.api);
    const std::string_view name = ring_.name(call.name);
    const bool begins = begins_capture(name);
    if (!begins && !ends_capture(name)) continue;
    const std::uint64_t handle =
        launch.host_record != nullptr ? launch.host_record->args[3] : device::unknown_stream;
    edges.push_back({launch.thread, device::stream_of_handle(handle), launch.start_ns,
                     launch.end_ns, call.result, begins});
  }
  return edges;
}

}  // namespace traceagent::drain
