#pragma once
// Which call of the job stands behind a call that CUPTI saw.

#include <cstdint>
#include <string_view>
#include <vector>

#include "agent/drain/device_records.hpp"
#include "agent/drain/window_edges.hpp"
#include "agent/drain/window_events.hpp"
#include "agent/event/device_record.hpp"

namespace traceagent::drain {

inline constexpr std::uint32_t no_index = UINT32_MAX;

// A call as CUPTI saw it, and where it belongs.
struct Launch {
  const event::Record* api;
  std::int64_t start_ns, end_ns;  // CUPTI's, fitted into what encloses it where it has no `host`
  std::uint32_t thread;           // index of its thread
  std::uint32_t host = no_index;  // the job's own call in the thread's records
  std::uint32_t nccl = no_index;  // the outermost NCCL call around it, in the thread's records
  const event::Record* nccl_record = nullptr;  // also of a call that began before the window
  std::uint32_t outer =
      no_index;                 // the Launch that it is a part of: a driver call in a runtime call
  When when = When::in_window;  // where its launch belongs
  const event::Record* host_record = nullptr;  // also of a call that began before the window
  std::int64_t host_begin_ns = 0;              // where there is a host_record

  // Where its slice begins in the trace.
  std::int64_t shown_ns() const noexcept { return host_record ? host_begin_ns : start_ns; }
};

// By thread and start. Threads that only CUPTI knows are added to `threads`, without records. CUPTI
// and the host's ticks are different clocks: neighbours are told apart while they differ by less
// than half of what lies between the middles of two calls.
std::vector<Launch> match_launches(const ring::Ring& ring, const DeviceRecords& device,
                                   const WindowEdges& edges, const event::TickConverter& clock,
                                   std::vector<ThreadEvents>& threads);

// Whether its own call is one that launches a graph, or may be: its name found no room.
inline bool launches_graph(const ring::Ring& ring, const Launch& launch) noexcept {
  const std::string_view name = ring.name(event::api_call_of(*launch.api).name);
  return name.empty() || name.find("GraphLaunch") != std::string_view::npos;
}

// The launch that stands for `index`: itself, or the outermost one that it is a part of.
inline std::uint32_t outermost(const std::vector<Launch>& launches, std::uint32_t index) noexcept {
  while (launches[index].outer != no_index) index = launches[index].outer;
  return index;
}

}  // namespace traceagent::drain
