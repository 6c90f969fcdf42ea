#pragma once
// Which lane the work of a stream is on, by the handle that the job's calls named.

#include <cstdint>
#include <map>
#include <optional>

#include "agent/drain/device_lanes.hpp"
#include "agent/drain/launch_match.hpp"
#include "agent/event/record.hpp"

namespace traceagent::drain {

// A stream as a call names it. A default stream's handle (0, legacy, per thread) may be another
// stream on another thread, and is one on each device.
struct NamedStream {
  std::uint64_t handle;
  std::uint32_t thread;  // 0 for a handle that is one stream, whoever uses it

  bool is_default() const noexcept { return thread != 0; }
  friend auto operator<=>(const NamedStream&, const NamedStream&) = default;
};

// Of a launch that has a record of ours.
inline NamedStream named_stream(const Launch& launch) noexcept {
  const std::uint64_t handle = launch.host_record->args[3];
  constexpr std::uint64_t last_default_stream = 2;
  return {handle, handle <= last_default_stream ? launch.thread + 1 : 0};
}

// A handle may be given to a new stream once the old one is destroyed.
class StreamLanes {
 public:
  // Work of this launch ran there; null: its launch is not known.
  void note(const Launch* launch, const LaneKey& lane) {
    if (!device_) device_ = lane.device;
    has_several_devices_ |= *device_ != lane.device;
    // A graph's branches run on streams of their own.
    const event::Record* host = launch != nullptr ? launch->host_record : nullptr;
    if (host == nullptr || host->layout == event::Layout::graph) return;
    const auto [found, is_first] = of_.try_emplace(named_stream(*launch), Known{lane, true});
    if (!is_first && !(found->second.lane == lane)) found->second.is_only_one = false;
  }
  // Whether all work under this name is one stream's, as far as it is known.
  bool is_one(const NamedStream& stream) const {
    if (stream.is_default() && has_several_devices_) return false;
    const auto found = of_.find(stream);
    return found == of_.end() || found->second.is_only_one;
  }

 private:
  struct Known {
    LaneKey lane;
    bool is_only_one;
  };
  std::map<NamedStream, Known> of_;
  std::optional<std::uint16_t> device_;
  bool has_several_devices_ = false;
};

}  // namespace traceagent::drain
