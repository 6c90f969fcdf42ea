#pragma once
// What CUPTI would have told, put into a crafted ring. Times as in CraftedRing: nanoseconds since
// the start of 2026.

#include <map>
#include <string>

#include "agent/event/device_record.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {

class CraftedDevice : public CraftedRing {
 public:
  explicit CraftedDevice(const std::string& folder = "/nowhere") : CraftedRing(folder) {
    ring().header().device.source.store(ring::DeviceSource::cupti);
    ring().header().device.recording_since_ns.store(epoch_ns + 1);
  }

  // The job's own call, on the thread's chunk.
  event::Record& call(std::uint32_t thread, api::Function function, event::Layout layout,
                      std::uint64_t begin, std::uint64_t end) {
    return add(chunk(thread), function, layout, begin, end);
  }
  event::Record& launch(std::uint32_t thread, std::uint64_t begin, std::uint64_t end) {
    return call(thread, api::Function::cudaLaunchKernel, event::Layout::launch, begin, end);
  }

  event::Record& api(std::uint32_t thread, const std::string& function, std::int64_t start,
                     std::int64_t end, std::uint32_t correlation) {
    const bool is_driver = !function.starts_with("cuda");
    event::Record& record = next();
    event::fill(record, event::ApiCall{is_driver, thread, name(function), 0, epoch_ns + start,
                                       epoch_ns + end, correlation});
    return arrive(record);
  }

  event::Record& work(const event::DeviceWork& work) {
    event::Record& record = next();
    event::fill(record, work);
    return arrive(record);
  }
  event::Record& kernel(const std::string& function, std::int64_t start, std::int64_t end,
                        std::uint32_t correlation, std::uint32_t stream = 7) {
    return work({event::DeviceKind::kernel, 0, 1, stream, name(function), epoch_ns + start,
                 epoch_ns + end, correlation, 0, 0});
  }
  event::Record& timed(const event::Record& host, std::uint64_t stream, std::int64_t start,
                       std::int64_t end, std::uint32_t error_ns) {
    event::Record& record = next();
    event::fill(record, event::TimedByEvent{ring::correlation_of(ring(), host), stream,
                                            epoch_ns + start, epoch_ns + end, error_ns, 0});
    return arrive(record);
  }

  void named(std::size_t place, ring::Named kind, std::uint64_t handle, const std::string& text,
             std::uint64_t since = 0, std::uint64_t until = 0) {
    ring().header().named_resources[place].store({kind, name(text), handle, since, until});
  }

  std::uint32_t name(const std::string& text) {
    const auto [found, is_new] = names_.try_emplace(text);
    if (is_new) found->second = ring().add_name(text);
    return found->second;
  }

 private:
  ring::Chunk& chunk(std::uint32_t thread) {
    const auto [found, is_new] = chunks_.try_emplace(thread);
    if (is_new) found->second = &chunk_of(thread, "python");
    return *found->second;
  }
  event::Record& next() {
    ring::Chunk& device = chunk(4242);
    std::size_t slot = 0;
    while (device.records[slot].begin_ticks.load() != 0) ++slot;
    return device.records[slot];
  }
  // Long after all windows: when it arrives says nothing of when it was.
  static event::Record& arrive(event::Record& record) {
    record.end_ticks.store(50'000'000);
    record.begin_ticks.store(50'000'000, std::memory_order_release);
    return record;
  }

  std::map<std::uint32_t, ring::Chunk*> chunks_;
  std::map<std::string, std::uint32_t> names_;
};

}  // namespace traceagent::drain
