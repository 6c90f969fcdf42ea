#include "agent/drain/device_text.hpp"

#include <algorithm>

#include "agent/api/function.hpp"
#include "agent/drain/event_text.hpp"
#include "agent/drain/plan_text.hpp"
#include "agent/trace/json_syntax.hpp"

namespace traceagent::drain {

using event::DeviceKind;
using event::DeviceWork;

DeviceText::DeviceText(const ring::Ring& ring, const std::vector<ThreadEvents>& threads,
                       const DeviceEvents& device, trace::EventWriter& writer)
    : ring_(ring), threads_(threads), device_(device), writer_(writer), names_(ring) {}

namespace {

constexpr char arrow_name[] = "ac2g";
// ac2g is the launch's, by which tools count launches.
constexpr char call_arrow_name[] = "nccl_call";

const char* category_of(DeviceKind kind) noexcept {
  switch (kind) {
    case DeviceKind::copy:
    case DeviceKind::peer_copy:
      return "gpu_memcpy";
    case DeviceKind::set:
      return "gpu_memset";
    case DeviceKind::synchronise:
      return "cuda_sync";
    case DeviceKind::memory:
      return "gpu_memory";
    case DeviceKind::overhead:
      return "overhead";
    default:
      return "kernel";
  }
}

// Of a group, which is timed on each of its streams. Default streams of several devices have one
// handle: of several communicators there nobody knows which is which.
void keep_of_stream(std::vector<const event::Record*>& calls, std::uint64_t stream) {
  std::erase_if(calls, [stream](const event::Record* call) { return call->args[3] != stream; });
  constexpr std::uint64_t last_default_stream = 2;
  const auto is_of_another = [&](const event::Record* call) {
    return call->extra != calls.front()->extra;
  };
  if (stream <= last_default_stream && std::any_of(calls.begin(), calls.end(), is_of_another)) {
    calls.clear();
  }
}

bool has_bytes(DeviceKind kind) noexcept {
  return kind == DeviceKind::copy || kind == DeviceKind::peer_copy || kind == DeviceKind::set ||
         kind == DeviceKind::memory;
}

}  // namespace

void DeviceText::write_call(const Launch& launch, std::int64_t tid, std::int64_t ts_ns,
                            std::int64_t dur_ns) {
  const event::ApiCall call = event::api_call_of(*launch.api);
  std::string_view name = ring_.name(call.name);
  if (name.empty()) name = "(unnamed)";
  const char* const category = call.is_driver ? "cuda_driver" : "cuda_runtime";
  writer_.complete(name, category, tid, ts_ns, dur_ns);
  writer_.arg("correlation", ring::correlation_of(ring_, *launch.api));
  writer_.arg("result", call.result);
  if (call.result != 0) error_arg(writer_, category, call.result);
  writer_.arg("seen by", "CUPTI");
  writer_.end();
}

void DeviceText::write_arrow(const Arrow& arrow, std::int64_t tid, std::int64_t ts_ns) {
  const DeviceSlice& slice = device_.slices()[arrow.slice];
  const char* const name = arrow.from_call ? call_arrow_name : arrow_name;
  writer_.flow_start(name, name, tid, ts_ns, arrow.from_call ? slice.call_flow : slice.flow);
}

void DeviceText::write_slice(const DeviceSlice& slice, std::int64_t ts_ns) {
  if (slice.record->layout == event::Layout::timed_by_event) {
    write_timed(slice, ts_ns);
  } else if (static_cast<DeviceKind>(slice.record->flags) == DeviceKind::memory) {
    write_memory(event::device_work_of(*slice.record), slice, ts_ns);
  } else {
    write_work(slice, ts_ns);
  }
  if (slice.flow != 0) writer_.flow_end(arrow_name, arrow_name, slice.tid, ts_ns, slice.flow);
  if (slice.call_flow != 0) {
    writer_.flow_end(call_arrow_name, call_arrow_name, slice.tid, ts_ns, slice.call_flow);
  }
}

void DeviceText::write_work(const DeviceSlice& slice, std::int64_t ts_ns) {
  const DeviceWork work = event::device_work_of(*slice.record);
  const std::int64_t dur_ns = slice.end_ns - slice.start_ns;
  std::string_view name = names_.name(work.name);
  if (name.empty()) name = "(unnamed)";
  writer_.complete(name, category_of(work.kind), slice.tid, ts_ns, dur_ns);
  place_args(work, slice);
  if (const std::string_view members = facts(work.facts); !members.empty()) {
    writer_.members(members);
  }
  quantity_args(work, dur_ns);
  if (slice.launched_before) writer_.arg("launched before the window", true);
  if (!slice.launch_seen && work.kind != DeviceKind::overhead) writer_.arg("launch", "not seen");
  if (work.kind == DeviceKind::kernel && name.starts_with("nccl")) collective_args(slice);
  writer_.end();
}

void DeviceText::place_args(const DeviceWork& work, const DeviceSlice& slice) {
  writer_.arg("External id", slice.correlation);
  if (slice.device != event::no_device) writer_.arg("device", slice.device);
  writer_.arg("context", work.context);
  // HTA takes whatever has a stream for work of the device, and a wait is none.
  const bool is_wait = work.kind == DeviceKind::synchronise;
  if (is_wait || work.kind == DeviceKind::overhead) {
    writer_.arg("stream", -1);
    if (is_wait) writer_.arg("waited for stream", static_cast<std::int32_t>(work.stream));
  } else {
    writer_.arg("stream", work.stream);
  }
  writer_.arg("correlation", slice.correlation);
}

void DeviceText::quantity_args(const DeviceWork& work, std::int64_t dur_ns) {
  if (work.kind == DeviceKind::kernel && work.quantity != 0) {
    writer_.arg("graph node id", work.quantity);
  }
  if (!has_bytes(work.kind)) return;
  writer_.arg("bytes", work.quantity);
  if (dur_ns > 0 && work.kind != DeviceKind::memory) {
    // Bytes per nanosecond.
    writer_.arg("memory bandwidth (GB/s)",
                static_cast<double>(work.quantity) / static_cast<double>(dur_ns));
  }
}

void DeviceText::write_memory(const DeviceWork& work, const DeviceSlice& slice,
                              std::int64_t ts_ns) {
  std::string_view name = ring_.name(work.name);
  if (name.empty()) name = "[memory]";
  writer_.instant(name, category_of(work.kind), slice.tid, ts_ns);
  writer_.arg("device", slice.device);
  writer_.arg("context", work.context);
  if (const std::string_view members = facts(work.facts); !members.empty()) {
    writer_.members(members);
  }
  quantity_args(work, 0);
  writer_.arg("correlation", slice.correlation);
  writer_.end();
}

// HTA tells communication by the name; "(timed)" is in no kernel's name.
void DeviceText::write_timed(const DeviceSlice& slice, std::int64_t ts_ns) {
  const event::TimedByEvent timed = event::timed_by_event_of(*slice.record);
  const event::Record& call = *threads_[slice.thread].records[slice.nccl];
  std::string_view what;
  if (call.layout == event::Layout::launch) what = names_.name(call.extra);
  if (what.empty()) what = api::name_of(static_cast<api::Function>(call.function)).shown;
  writer_.complete(std::string(what) + " (timed)", "kernel", slice.tid, ts_ns,
                   slice.end_ns - slice.start_ns);
  writer_.arg("External id", slice.correlation);
  writer_.arg("device", timed.device);
  writer_.arg("context", 0);
  // An integer for those who ask for one, and the default stream's number as CUPTI says it.
  writer_.arg("stream", timed.stream == 0 ? 7 : slice.tid % first_device_tid);
  writer_.arg("stream handle", trace::Hex{timed.stream});
  writer_.arg("correlation", slice.correlation);
  writer_.arg("timed by", "CUDA events");
  writer_.arg("time error (us)", static_cast<double>(timed.error_ns) / 1000.0);
  std::vector<const event::Record*> calls =
      calls_of_kernel(threads_[slice.thread], slice.nccl, what);
  if (call.layout != event::Layout::collective) keep_of_stream(calls, timed.stream);
  collective_args(calls);
  writer_.end();
}

void DeviceText::collective_args(const DeviceSlice& slice) {
  const auto index = static_cast<std::uint32_t>(&slice - device_.slices().data());
  if (const NcclKernel* kernel = device_.nccl_kernels().of_slice(index)) {
    collective_args(kernel->calls);
    write_plan_of_kernel(writer_, ring_, device_.plans(), kernel->calls);
  }
}

void DeviceText::collective_args(const std::vector<const event::Record*>& calls) {
  CollectiveTerms terms;
  for (const event::Record* call : calls) add_collective(ring_, *call, terms);
  write_collective(writer_, ring_, terms);
}

// A damaged ring's text would spoil the file.
std::string_view DeviceText::facts(std::uint32_t offset) {
  if (offset == 0) return {};
  const auto [found, is_new] = facts_.try_emplace(offset);
  if (!is_new) return found->second;
  const std::string_view text = ring_.name(offset);
  const bool is_fit =
      text.find('\n') == text.npos && trace::is_whole_object("{" + std::string(text) + "}");
  if (is_fit) found->second = text;
  return found->second;
}

}  // namespace traceagent::drain
