#pragma once
// CUPTI's activity records as bytes: which field lies where. The library on the user's machine may
// be of any version from 11.0 on, so no struct of the header we were built with is relied upon;
// tests/unit/device holds these numbers against the installed one.

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace traceagent::device {

// A typed read at an offset: records are packed, and 8-byte aligned at best.
template <class T>
T load(const std::byte* record, std::size_t offset) noexcept {
  T value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

// CUpti_ActivityKind, at offset 0 of every record.
enum class ActivityKind : std::uint32_t {
  copy = 1,
  set = 2,
  kernel = 3,
  driver = 4,
  runtime = 5,
  context = 9,
  concurrent_kernel = 10,
  overhead = 17,
  peer_copy = 22,  // MEMCPY2
  stream = 37,
  synchronisation = 38,
  memory = 49,  // MEMORY2
  graph = 51,   // GRAPH_TRACE
};

// What cuptiGetVersion() must say at least before a field at a record's tail is there.
namespace since {
inline constexpr std::uint32_t copy_graph_node = 14;       // CUDA 11.1
inline constexpr std::uint32_t graph_id = 15;              // CUDA 11.2
inline constexpr std::uint32_t cluster = 18;               // CUDA 11.8
inline constexpr std::uint32_t overhead_correlation = 20;  // CUDA 12.2
// Not a field: from here on CUPTI drops records where it is refused a buffer; before, it crashed.
inline constexpr std::uint32_t refusable_buffers = 27;  // CUDA 12.9
}  // namespace since

// CUpti_ActivityKernel4 and later: prefixes of each other.
namespace kernel_record {
inline constexpr std::size_t registers = 6;  // uint16
inline constexpr std::size_t start = 16;
inline constexpr std::size_t end = 24;
inline constexpr std::size_t device = 40;
inline constexpr std::size_t context = 44;
inline constexpr std::size_t stream = 48;
inline constexpr std::size_t grid = 52;   // three int32
inline constexpr std::size_t block = 64;  // three int32
inline constexpr std::size_t static_shared = 76;
inline constexpr std::size_t dynamic_shared = 80;
inline constexpr std::size_t correlation = 92;
inline constexpr std::size_t name = 104;  // const char*
inline constexpr std::size_t graph_node = 144;
inline constexpr std::size_t graph = 156;
inline constexpr std::size_t cluster = 176;  // three uint32
inline constexpr std::size_t smallest_bytes = 144;
}  // namespace kernel_record

namespace copy_record {
inline constexpr std::size_t copy_kind = 4;  // uint8, CUpti_ActivityMemcpyKind
inline constexpr std::size_t from_kind = 5;  // uint8, CUpti_ActivityMemoryKind
inline constexpr std::size_t to_kind = 6;    // uint8
inline constexpr std::size_t bytes = 8;
inline constexpr std::size_t start = 16;
inline constexpr std::size_t end = 24;
inline constexpr std::size_t device = 32;
inline constexpr std::size_t context = 36;
inline constexpr std::size_t stream = 40;
inline constexpr std::size_t correlation = 44;
inline constexpr std::size_t graph_node = 64;
inline constexpr std::size_t graph = 72;
}  // namespace copy_record

// As a copy's up to the stream; MEMCPY2 puts both ends before the correlation.
namespace peer_copy_record {
inline constexpr std::size_t from_device = 44;
inline constexpr std::size_t from_context = 48;
inline constexpr std::size_t to_device = 52;
inline constexpr std::size_t to_context = 56;
inline constexpr std::size_t correlation = 60;
inline constexpr std::size_t graph_node = 72;
inline constexpr std::size_t graph = 80;
}  // namespace peer_copy_record

namespace set_record {
inline constexpr std::size_t bytes = 8;
inline constexpr std::size_t start = 16;
inline constexpr std::size_t end = 24;
inline constexpr std::size_t device = 32;
inline constexpr std::size_t context = 36;
inline constexpr std::size_t stream = 40;
inline constexpr std::size_t correlation = 44;
inline constexpr std::size_t memory_kind = 50;  // uint16
inline constexpr std::size_t graph_node = 64;
inline constexpr std::size_t graph = 72;
}  // namespace set_record

// RUNTIME and DRIVER.
namespace api_record {
inline constexpr std::size_t function = 4;  // CUpti_CallbackId
inline constexpr std::size_t start = 8;
inline constexpr std::size_t end = 16;
inline constexpr std::size_t thread = 28;
inline constexpr std::size_t correlation = 32;
inline constexpr std::size_t result = 36;
}  // namespace api_record

namespace synchronisation_record {
inline constexpr std::size_t type = 4;
inline constexpr std::size_t start = 8;
inline constexpr std::size_t end = 16;
inline constexpr std::size_t correlation = 24;
inline constexpr std::size_t context = 28;
inline constexpr std::size_t stream = 32;
}  // namespace synchronisation_record

// CUpti_ActivityMemory2 and later.
namespace memory_record {
inline constexpr std::size_t operation = 4;  // 1: allocation, 2: release
inline constexpr std::size_t memory_kind = 8;
inline constexpr std::size_t correlation = 12;
inline constexpr std::size_t bytes = 24;
inline constexpr std::size_t timestamp = 32;
inline constexpr std::size_t device = 52;
inline constexpr std::size_t context = 56;
inline constexpr std::size_t stream = 60;
}  // namespace memory_record

namespace overhead_record {
inline constexpr std::size_t overhead_kind = 4;
inline constexpr std::size_t object_kind = 8;  // 2: a thread
inline constexpr std::size_t thread = 16;      // of objectId.pt
inline constexpr std::size_t start = 24;
inline constexpr std::size_t end = 32;
inline constexpr std::size_t correlation = 40;
}  // namespace overhead_record

namespace stream_record {
inline constexpr std::size_t context = 4;
inline constexpr std::size_t stream = 8;
inline constexpr std::size_t priority = 12;
}  // namespace stream_record

namespace context_record {
inline constexpr std::size_t context = 4;
inline constexpr std::size_t device = 8;
}  // namespace context_record

namespace graph_record {
inline constexpr std::size_t correlation = 4;
inline constexpr std::size_t start = 8;
inline constexpr std::size_t end = 16;
inline constexpr std::size_t device = 24;
inline constexpr std::size_t graph = 28;
inline constexpr std::size_t context = 32;
inline constexpr std::size_t stream = 36;
}  // namespace graph_record

}  // namespace traceagent::device
