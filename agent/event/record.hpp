#pragma once
// The event as it lies in the ring: 64 bytes, one cache line, meaning given by `layout`.

#include <atomic>
#include <cstdint>

namespace traceagent::event {

// How detail, extra and args of a Record are to be read. Stored in the ring file: append only.
enum class Layout : std::uint8_t {
  none = 0,
  launch = 1,        // args: kernel name | block.z<<32 (low 32: name), grid, block+shared, stream
  copy = 2,          // args: dst, src, bytes, stream; detail: cudaMemcpyKind
  set = 3,           // args: pointer, bytes, stream, value
  allocation = 4,    // args: pointer, bytes, stream
  stream = 5,        // args: stream, other handle (event, graph); detail: flags
  event = 6,         // args: event, stream
  device = 7,        // detail: device number
  graph = 8,         // args: graph, stream
  collective = 9,    // args: count, stream, communicator | sequence<<32, dtype|op<<8|peer<<32
  communicator = 10, // args: communicator index, device
  range = 11,        // args: name, domain name, payload bits, colour; detail: payload type
  mark = 12,         // as range, an instant
  synchronise = 13,  // args: handle (stream or event)
};

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
