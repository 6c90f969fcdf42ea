#pragma once
// The device's work, and calls that only CUPTI saw, as lines of the trace.

#include <cstdint>
#include <string>
#include <unordered_map>

#include "agent/drain/collective_text.hpp"
#include "agent/drain/demangled_names.hpp"
#include "agent/drain/device_events.hpp"
#include "agent/trace/event_writer.hpp"

namespace traceagent::drain {

class DeviceText {
 public:
  // `threads` as the DeviceEvents were made with.
  DeviceText(const ring::Ring& ring, const std::vector<ThreadEvents>& threads,
             const DeviceEvents& device, trace::EventWriter& writer);

  void write_call(const Launch& launch, std::int64_t tid, std::int64_t ts_ns, std::int64_t dur_ns);
  // The slice, and the end of the arrow that leads to it.
  void write_slice(const DeviceSlice& slice, std::int64_t ts_ns);
  // Behind a host's slice at (tid, ts_ns).
  void write_arrow(const Arrow& arrow, std::int64_t tid, std::int64_t ts_ns);

 private:
  void write_work(const DeviceSlice& slice, std::int64_t ts_ns);
  void write_memory(const event::DeviceWork& work, const DeviceSlice& slice, std::int64_t ts_ns);
  void write_timed(const DeviceSlice& slice, std::int64_t ts_ns);
  void place_args(const event::DeviceWork& work, const DeviceSlice& slice);
  void quantity_args(const event::DeviceWork& work, std::int64_t dur_ns);
  void collective_args(const DeviceSlice& slice);
  void collective_args(const std::vector<const event::Record*>& calls);
  std::string_view facts(std::uint32_t offset);

  const ring::Ring ring_;
  const std::vector<ThreadEvents>& threads_;
  const DeviceEvents& device_;
  trace::EventWriter& writer_;
  DemangledNames names_;
  std::unordered_map<std::uint32_t, std::string> facts_;
};

}  // namespace traceagent::drain
