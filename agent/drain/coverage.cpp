#include "agent/drain/coverage.hpp"

#include "agent/api/function.hpp"

namespace traceagent::drain {

using event::Layout;
using ring::DoorId;
using trace::JsonObject;

namespace {

DoorId door_of(const event::Record& record) noexcept {
  if (record.layout == Layout::collective_plan) return DoorId::nccl_plugin;
  if (!event::is_host_call(record.layout)) return DoorId::cupti;
  const auto category = api::name_of(static_cast<api::Function>(record.function)).category;
  if (category == "nccl") return DoorId::nccl;
  if (category == "cuda_driver") return DoorId::driver;
  return category == "user_annotation" ? DoorId::nvtx : DoorId::cudart;
}

const char* source_name(ring::DeviceSource source) noexcept {
  if (source == ring::DeviceSource::cupti) return "cupti";
  return source == ring::DeviceSource::cuda_events ? "cuda_events" : "none";
}

JsonObject counts_object(const Counts& counts) {
  JsonObject object;
  for (const auto& [name, count] : counts) {
    if (count != 0) object.add(name, count);
  }
  return object;
}

}  // namespace

void count_call(const event::Record& record, DoorCalls& calls) noexcept {
  ++calls[static_cast<std::size_t>(door_of(record))];
}

void count_calls(const std::vector<ThreadEvents>& threads, DoorCalls& calls) noexcept {
  for (const ThreadEvents& thread : threads) {
    for (const event::Record* record : thread.records) count_call(*record, calls);
  }
}

JsonObject doors_object(const ring::Ring& ring, const DoorCalls& calls) {
  JsonObject doors;
  for (std::size_t i = 0; i < ring::door_count; ++i) {
    JsonObject door;
    door.add("open", ring.header().door_open[i].load(std::memory_order_relaxed) != 0);
    // What the dlsym door hands out are the libraries' own wrappers.
    if (i != static_cast<std::size_t>(DoorId::dlsym)) door.add("calls", calls[i]);
    doors.add(ring::door_names[i], door);
  }
  return doors;
}

JsonObject device_object(const ring::Ring& ring, const DeviceMatch& match) {
  const ring::DeviceBlock& device = ring.header().device;
  const std::string problem(ring.name(device.problem.load(std::memory_order_acquire)));
  const std::int64_t since_ns = device.recording_since_ns.load(std::memory_order_relaxed);
  JsonObject object;
  const ring::DeviceSource source = device.source.load(std::memory_order_relaxed);
  object.add("source",
             source_name(match.is_by_events() ? ring::DeviceSource::cuda_events : source));
  if (const auto version = device.cupti_version.load(std::memory_order_relaxed); version != 0) {
    object.add("cupti_version", version);
  }
  if (since_ns != 0) object.add("recording_since_ns", since_ns);
  if (!problem.empty()) object.add("problem", problem);
  object.add("launches", match.launches)
      .add("work", match.work)
      .add("launches_without_work", counts_object(match.launches_without_work))
      .add("work_without_launch", counts_object(match.work_without_launch))
      .add("calls_only_cupti_saw", counts_object(match.calls_only_cupti_saw));
  if (const JsonObject counts = counts_object(match.nccl_kernels_without_call); !counts.empty()) {
    object.add("nccl_kernels_without_call", counts);
  }
  if (match.timed_by_events != 0) object.add("timed_by_events", match.timed_by_events);
  return object;
}

}  // namespace traceagent::drain
