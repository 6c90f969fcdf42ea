#pragma once
// What the lanes of the device's work are called. A stream's name is learned from the calls that
// gave it work: they carry the handle that the job named, the work carries the stream's number.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "agent/drain/device_lanes.hpp"
#include "agent/drain/resource_names.hpp"
#include "agent/event/record.hpp"
#include "agent/ring/ring.hpp"
#include "agent/trace/event_writer.hpp"
#include "agent/trace/json_object.hpp"

namespace traceagent::drain {

class LaneNames {
 public:
  explicit LaneNames(const ring::Ring& ring) : ring_(ring), names_(ring) {}
  LaneNames(const LaneNames&) = delete;
  LaneNames& operator=(const LaneNames&) = delete;

  // Work on the lane of a stream was launched by this call.
  void note_call(const LaneKey& lane, const event::Record& call) {
    if (names_.has_streams()) note_named(lane, call);
  }
  // A kernel of this name (an offset in the ring's names) ran there.
  void note_kernel(const LaneKey& lane, std::uint32_t name);

  // Of all lanes.
  void write(trace::EventWriter& writer, const DeviceLanes& lanes) const;
  // What has a name or a priority: members "streams", "devices", "contexts", "threads".
  trace::JsonObject describe(const DeviceLanes& lanes) const;
  // "": none was given.
  std::string_view of_thread(std::uint32_t thread_id) const { return names_.thread(thread_id); }

 private:
  struct Facts {
    std::string_view name;  // given by the job
    bool has_nccl = false;  // NCCL's kernels
    bool has_other = false;
  };
  // Contexts that have streams, by device.
  using Contexts = std::map<std::uint16_t, std::set<std::uint32_t>>;

  void note_named(const LaneKey& lane, const event::Record& call);
  void note_graph(const LaneKey& lane, const event::Record& call);
  Facts& facts(const LaneKey& lane);
  bool is_nccl(std::uint32_t name);

  std::string device_text(std::uint16_t device) const;
  std::string timed_text(const LaneKey& lane) const;
  std::string text(const LaneKey& lane, const Contexts& contexts) const;
  std::string stream_text(const LaneKey& lane) const;
  std::string_view given(const LaneKey& lane) const;
  std::int64_t priority(const LaneKey& lane) const;
  std::string_view streams_json() const;

  const ring::Ring ring_;
  const ResourceNames names_;
  std::map<LaneKey, Facts> facts_;
  LaneKey latest_lane_;
  Facts* latest_ = nullptr;
  std::unordered_map<std::uint32_t, bool> is_nccl_;
  // Which lane a graph's launch gave work to; the name is not known where there are several.
  struct GraphLane {
    LaneKey lane;
    std::string_view name_before;
  };
  std::unordered_map<const event::Record*, GraphLane> graphs_;
};

}  // namespace traceagent::drain
