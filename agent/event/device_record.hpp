#pragma once
// What the GPU did, as it lies in the ring: records of the same 64 bytes as the host's calls, so
// that they are bounded, survive a kill and are recovered in the same way. The thread that CUPTI
// calls back writes them; times are CLOCK_REALTIME nanoseconds, CUPTI's own clock.

#include <cstdint>

#include "agent/event/record.hpp"

namespace traceagent::event {

// Record::flags of Layout::device_work. Stored in the ring file: append only.
enum class DeviceKind : std::uint8_t {
  kernel,
  copy,
  peer_copy,
  set,
  synchronise,  // a host thread or a stream waited: Kineto's cuda_sync
  memory,       // allocation and release, an instant
  overhead,     // CUPTI's own
  graph,        // a whole graph launch, where its nodes are not recorded one by one
};

// Fields of Layout::device_work beside those that every Record has. begin_ticks and end_ticks are
// both the moment of arrival: chunks are given back by it.
struct DeviceWork {
  DeviceKind kind;            // flags
  std::uint16_t device;       // function
  std::uint32_t context;      // result
  std::uint32_t stream;       // detail: CUPTI's number; the default stream is 7 in most processes
  std::uint32_t name;         // extra: offset in the ring's names: "Memcpy HtoD (Pinned -> Device)"
  std::int64_t start_ns;      // args[0]
  std::int64_t end_ns;        // args[1]
  std::uint32_t correlation;  // args[2], low: CUPTI's id, shared with the API call that launched it
  std::uint32_t facts;        // args[2], high: offset in the names; see below
  std::uint64_t quantity;     // args[3]: bytes of copies, sets and memory; graph node id of kernels
};
// synchronise: no device is known where the context launched nothing yet (no_device); a wait for
// the whole context has the stream no_stream. overhead: device no_device, and `stream` is the
// system's id of the thread it hit, 0 if unknown. memory: start_ns == end_ns.
inline constexpr std::uint16_t no_device = 0xffff;
inline constexpr std::uint32_t no_stream = 0xffffffff;
// `facts` is text: the JSON members that many records share, ready to be copied into "args", such
// as  "registers per thread":32,"shared memory":0,"grid":[64,1,1],"block":[256,1,1]  and for copies
// in graphs  "graph id":3,"graph node id":12884901890 . 0: none.

inline DeviceWork device_work_of(const Record& record) noexcept {
  return {static_cast<DeviceKind>(record.flags),
          record.function,
          static_cast<std::uint32_t>(record.result),
          record.detail,
          record.extra,
          static_cast<std::int64_t>(record.args[0]),
          static_cast<std::int64_t>(record.args[1]),
          static_cast<std::uint32_t>(record.args[2]),
          static_cast<std::uint32_t>(record.args[2] >> 32),
          record.args[3]};
}

// All but the ticks, which publishing sets.
inline void fill(Record& record, const DeviceWork& work) noexcept {
  record.layout = Layout::device_work;
  record.flags = static_cast<std::uint8_t>(work.kind);
  record.function = work.device;
  record.result = static_cast<std::int32_t>(work.context);
  record.detail = work.stream;
  record.extra = work.name;
  record.args[0] = static_cast<std::uint64_t>(work.start_ns);
  record.args[1] = static_cast<std::uint64_t>(work.end_ns);
  record.args[2] = work.correlation | std::uint64_t{work.facts} << 32;
  record.args[3] = work.quantity;
}

// Fields of Layout::api_call: a call into CUDA as CUPTI saw it, whoever made it. It ties device
// work to our record of the same call, which encloses it on the same thread, and stands in for the
// host's event where no door of ours saw the call.
struct ApiCall {
  bool is_driver;             // flags
  std::uint32_t thread_id;    // detail: the system's
  std::uint32_t name;         // extra: cudaLaunchKernel, without CUPTI's suffix _v7000
  std::int32_t result;        // result
  std::int64_t start_ns;      // args[0]
  std::int64_t end_ns;        // args[1]
  std::uint32_t correlation;  // args[2]
};

inline ApiCall api_call_of(const Record& record) noexcept {
  return {record.flags != 0,
          record.detail,
          record.extra,
          record.result,
          static_cast<std::int64_t>(record.args[0]),
          static_cast<std::int64_t>(record.args[1]),
          static_cast<std::uint32_t>(record.args[2])};
}

inline void fill(Record& record, const ApiCall& call) noexcept {
  record.layout = Layout::api_call;
  record.flags = call.is_driver ? 1 : 0;
  record.function = 0;
  record.detail = call.thread_id;
  record.extra = call.name;
  record.result = call.result;
  record.args[0] = static_cast<std::uint64_t>(call.start_ns);
  record.args[1] = static_cast<std::uint64_t>(call.end_ns);
  record.args[2] = call.correlation;
  record.args[3] = 0;
}

// Fields of Layout::timed_by_event: a host call's work between two CUDA events on its stream, where
// CUPTI cannot be had.
struct TimedByEvent {
  std::uint64_t host_record;  // args[2]: ring::correlation_of() the call's record
  std::uint64_t stream;       // args[3]: the handle
  std::int64_t start_ns;      // args[0]
  std::int64_t end_ns;        // args[1]
  std::uint32_t error_ns;     // detail: the times may be off by this much
  std::uint16_t device;       // function
};

inline TimedByEvent timed_by_event_of(const Record& record) noexcept {
  return {record.args[2],
          record.args[3],
          static_cast<std::int64_t>(record.args[0]),
          static_cast<std::int64_t>(record.args[1]),
          record.detail,
          record.function};
}

inline void fill(Record& record, const TimedByEvent& timed) noexcept {
  record.layout = Layout::timed_by_event;
  record.flags = 0;
  record.function = timed.device;
  record.result = 0;
  record.detail = timed.error_ns;
  record.extra = 0;
  record.args[0] = static_cast<std::uint64_t>(timed.start_ns);
  record.args[1] = static_cast<std::uint64_t>(timed.end_ns);
  record.args[2] = timed.host_record;
  record.args[3] = timed.stream;
}

}  // namespace traceagent::event
