#include "agent/drain/lane_names.hpp"

#include "agent/event/device_record.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_text.hpp"

namespace traceagent::drain {
namespace {

std::string in_quotes(std::string_view name) { return " \"" + std::string(name) + "\""; }

std::uint64_t begin_of(const event::Record& call) noexcept {
  return call.begin_ticks.load(std::memory_order_relaxed);
}

}  // namespace

LaneNames::Facts& LaneNames::facts(const LaneKey& lane) {
  // Work comes in runs of one stream.
  if (latest_ == nullptr || !(latest_lane_ == lane)) {
    latest_ = &facts_[lane];
    latest_lane_ = lane;
  }
  return *latest_;
}

void LaneNames::note_named(const LaneKey& lane, const event::Record& call) {
  if (call.layout == event::Layout::graph) return note_graph(lane, call);
  const std::uint64_t handle = stream_handle_of(call);
  if (handle == no_stream_handle) return;
  const std::string_view name = names_.stream(handle, begin_of(call));
  if (!name.empty()) facts(lane).name = name;
}

// Of a graph's branches one runs on the stream that it was launched on, and none says which. So the
// stream's name is that of the lane which has all of the launch's work.
void LaneNames::note_graph(const LaneKey& lane, const event::Record& call) {
  const auto [found, is_first] = graphs_.try_emplace(&call);
  if (is_first) {
    Facts& only = facts(lane);
    found->second = {lane, only.name};
    const std::string_view name = names_.stream(call.args[3], begin_of(call));
    if (only.name.empty()) only.name = name;
  } else if (!(found->second.lane == lane)) {
    facts(found->second.lane).name = found->second.name_before;
  }
}

bool LaneNames::is_nccl(std::uint32_t name) {
  const auto [found, is_new] = is_nccl_.try_emplace(name);
  if (is_new) found->second = ring_.name(name).starts_with("nccl");
  return found->second;
}

void LaneNames::note_kernel(const LaneKey& lane, std::uint32_t name) {
  Facts& known = facts(lane);
  (is_nccl(name) ? known.has_nccl : known.has_other) = true;
}

std::string_view LaneNames::given(const LaneKey& lane) const {
  if (lane.kind == LaneKind::timed) return names_.stream(lane.stream, UINT64_MAX);
  const auto found = facts_.find(lane);
  return found != facts_.end() ? found->second.name : std::string_view();
}

std::string_view LaneNames::streams_json() const {
  return ring_.name(ring_.header().device.streams_json.load(std::memory_order_acquire));
}

// 0: the default, or not known.
std::int64_t LaneNames::priority(const LaneKey& lane) const {
  const auto known = trace::member(streams_json(), std::to_string(lane.device) + "/" +
                                                       std::to_string(lane.context) + "/" +
                                                       std::to_string(lane.stream));
  return known ? trace::integer_member(*known, "priority").value_or(0) : 0;
}

std::string LaneNames::device_text(std::uint16_t device) const {
  if (device == event::no_device) return "GPU";
  const std::string_view name = names_.device(device);
  return "GPU " + std::to_string(device) + (name.empty() ? "" : in_quotes(name));
}

std::string LaneNames::timed_text(const LaneKey& lane) const {
  char handle[trace::max_hex_chars];
  const char* end = trace::put_hex(handle, lane.stream);
  const std::string_view name = given(lane);
  return " stream " + std::string(static_cast<const char*>(handle) + 1, end - 1) +
         (name.empty() ? "" : in_quotes(name)) + " (timed by events)";
}

// What follows "GPU 0 stream 7 context 1".
std::string LaneNames::stream_text(const LaneKey& lane) const {
  std::string text;
  const auto found = facts_.find(lane);
  if (found != facts_.end()) {
    const Facts& known = found->second;
    // What PyTorch and others give to NCCL alone is known by what runs there.
    if (!known.name.empty())
      text = in_quotes(known.name);
    else if (known.has_nccl && !known.has_other)
      text = " (NCCL)";
  }
  const std::int64_t value = priority(lane);
  return value == 0 ? text : text + " (priority " + std::to_string(value) + ")";
}

std::string LaneNames::text(const LaneKey& lane, const Contexts& contexts) const {
  std::string name = device_text(lane.device);
  switch (lane.kind) {
    case LaneKind::timed:
      return name + timed_text(lane);
    case LaneKind::waits:
      return name +
             (lane.stream != 0 ? " waits of thread " + std::to_string(lane.stream) : " waits");
    case LaneKind::memory:
      name += " memory";
      break;
    case LaneKind::overhead:
      name += " CUPTI overhead";
      break;
    default:
      name += " stream " + std::to_string(lane.stream);
  }
  const auto found = contexts.find(lane.device);
  const std::size_t others =
      found == contexts.end() ? 0 : found->second.size() - found->second.count(lane.context);
  if (others != 0) name += " context " + std::to_string(lane.context);
  return lane.kind == LaneKind::stream ? name + stream_text(lane) : name;
}

void LaneNames::write(trace::EventWriter& writer, const DeviceLanes& lanes) const {
  // Once for all names: a program may have thousands of streams.
  Contexts contexts;
  lanes.visit([&](std::int64_t, const LaneKey& lane, std::size_t) {
    if (lane.kind == LaneKind::stream) contexts[lane.device].insert(lane.context);
  });
  lanes.visit([&](std::int64_t tid, const LaneKey& lane, std::size_t count) {
    const std::string name = text(lane, contexts);
    for (std::size_t i = 0; i < count; ++i) {
      writer.thread_name(spill_tid(tid, i), i == 0 ? name : name + " overlapping");
      writer.thread_sort_index(spill_tid(tid, i), tid);
    }
  });
}

trace::JsonObject LaneNames::describe(const DeviceLanes& lanes) const {
  trace::JsonArray streams;
  std::set<std::string, std::less<>> shown;
  lanes.visit([&](std::int64_t, const LaneKey& lane, std::size_t) {
    if (lane.kind != LaneKind::stream) return;
    const std::string_view name = given(lane);
    const std::int64_t value = priority(lane);
    if (name.empty() && value == 0) return;
    trace::JsonObject stream;
    stream.add("device", lane.device).add("context", lane.context).add("stream", lane.stream);
    if (!name.empty()) stream.add("name", name);
    if (value != 0) stream.add("priority", value);
    streams.add(stream);
    shown.emplace(name);
  });
  names_.describe_streams(streams, shown);
  trace::JsonObject object;
  if (!streams.empty()) object.add("streams", streams);
  names_.describe(object);
  return object;
}

}  // namespace traceagent::drain
