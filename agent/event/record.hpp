#pragma once
// The event as it lies in the ring: 64 bytes, one cache line, meaning given by `layout`.

#include <atomic>
#include <cstdint>

namespace traceagent::event {

// How detail, extra and args of a Record are to be read. Every layout that has a stream has it in
// args[3], every one with a size in bytes has it in args[2]. Stored in the ring file: append only.
enum class Layout : std::uint8_t {
  none = 0,
  launch = 1,         // extra: kernel's name; detail: dynamic shared bytes; args[0..2]: grid, block
  copy = 2,           // detail: cudaMemcpyKind; args: dst, src, bytes, stream
  peer_copy = 3,      // detail, extra: devices to and from; args as copy
  set = 4,            // detail: value; args: pointer, -, bytes, stream
  allocation = 5,     // args: pointer, -, bytes (0: a free), stream
  stream = 6,         // args: -, -, -, stream
  event = 7,          // args: event, -, -, stream
  synchronise = 8,    // args: the stream or event waited for
  device = 9,         // detail: device number
  graph = 10,         // args: graph, -, -, stream
  collective = 11,    // extra: communicator; detail: Collective; args: count, sequence number,
                      //   type | reduction<<8 | (root or peer)<<32, stream
  communicator = 12,  // extra: communicator's index in the ring's table, plus 1
  range = 13,         // extra: name; detail: payload type; args: domain's name, payload, colour
  mark = 14,          // as range, but an instant
  // Not calls of a thread: agent/event/device_record.hpp says what their fields are.
  device_work = 15,      // what the GPU did, from CUPTI
  api_call = 16,         // a call as CUPTI saw it
  timed_by_event = 17,   // a call's work on the device, from a pair of CUDA events
  collective_plan = 18,  // what NCCL's profiler interface told of a collective
  // agent/counters/record.hpp
  counter_sample = 19,
  counter_note = 20,
};
inline constexpr bool is_host_call(Layout layout) noexcept { return layout < Layout::device_work; }

// Calls that succeed only where CUDA has a device in use.
inline constexpr bool uses_device(Layout layout) noexcept {
  return (layout >= Layout::launch && layout <= Layout::synchronise) || layout == Layout::graph ||
         layout == Layout::collective;
}

// In args[2] of a copy: so much as the job said does not tell it.
inline constexpr std::uint64_t unknown_bytes = ~std::uint64_t{0};

// In args[1] of a collective: that it has no number among its communicator's.
inline constexpr std::uint64_t no_sequence = UINT64_MAX;
// Added to a communicator's counters once they are not those of other ranks any more; a send's and
// receive's have 32 bits.
inline constexpr std::uint64_t sequence_lost = std::uint64_t{1} << 63;
inline constexpr std::uint32_t peer_sequence_lost = std::uint32_t{1} << 31;

// Record::detail of a collective. Stored in the ring file: append only.
enum class Collective : std::uint8_t {
  all_reduce,
  reduce,
  broadcast,
  reduce_scatter,
  all_gather,
  all_to_all,
  gather,
  scatter,
  send,
  receive,
};
inline constexpr bool is_point_to_point(Collective kind) noexcept {
  return kind >= Collective::send;
}

// All fields but begin_ticks and end_ticks are written by the owning thread before begin_ticks is
// stored with release; begin_ticks == 0 means "not published". end_ticks is patched at the call's
// return: 0 means that the call still runs, so a hung call shows.
struct alignas(64) Record {
  std::atomic<std::uint64_t> begin_ticks;
  std::atomic<std::uint64_t> end_ticks;
  std::uint16_t function;  // api::Function
  Layout layout;
  std::uint8_t flags;
  std::int32_t result;  // the API's own return code
  std::uint32_t detail;
  std::uint32_t extra;
  std::uint64_t args[4];
};
static_assert(sizeof(Record) == 64);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

// Record::flags
inline constexpr std::uint8_t flag_in_place = 1;       // NCCL send and receive buffers are one
inline constexpr std::uint8_t flag_in_group = 2;       // between ncclGroupStart and ncclGroupEnd
inline constexpr std::uint8_t flag_process_range = 4;  // NVTX start/end: belongs to no thread

}  // namespace traceagent::event
