#pragma once
// CUPTI's activity buffers → records of the ring.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/device/api_functions.hpp"
#include "agent/device/cupti_records.hpp"
#include "agent/device/occupancy.hpp"
#include "agent/device/text_store.hpp"
#include "agent/event/device_record.hpp"
#include "agent/ring/ring.hpp"

namespace traceagent::device {

// cuptiActivityGetNextRecord: the library alone knows how long its records are.
using NextRecord = CuptiResult (*)(std::uint8_t* buffer, std::size_t valid_bytes, void** record);

class RecordReader {
 public:
  struct Counts {
    std::atomic<std::uint64_t> written{0};
    std::atomic<std::uint64_t> passed_over{0};  // kinds and calls that are of no use
    std::atomic<std::uint64_t> unfinished{0};   // no end yet: cut off by a forced flush
  };

  RecordReader(ring::Ring ring, std::uint32_t version, NextRecord next, ApiFunctions& functions);

  // From any thread, CUPTI's or the job's. Records that find no room in the ring are counted as
  // device_ring_full, work without times as device_untimed, and what lies beyond the buffer, with
  // all that follows it there, as device_dropped.
  void read(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;
  // Counts the buffer's records as device_dropped and keeps none.
  void discard(std::uint8_t* buffer, std::size_t valid_bytes) noexcept;

  // Until this is taken back, what has no end has not ended: a forced flush is under way.
  void expect_unfinished(bool is_expected) noexcept {
    unfinished_expected_.store(is_expected, std::memory_order_release);
  }

  // Once for a device; one thread at a time.
  void set_shape(std::uint32_t device, const DeviceShape& shape) noexcept;
  // One bit each, beside those that records name. A context that no record has named is on the only
  // device that the process uses; where it uses several, nobody knows on which.
  void expect_devices(std::uint64_t in_use) noexcept {
    devices_in_use_.store(in_use, std::memory_order_relaxed);
  }
  // One bit for each of the first 64 devices that a record named.
  std::uint64_t devices_seen() const noexcept {
    return devices_seen_.load(std::memory_order_relaxed);
  }
  const Counts& counts() const noexcept { return counts_; }

  // Streams that were created while recording, as DeviceBlock::streams_json has them; "" if none.
  std::string streams_json() const;

 private:
  std::size_t bytes_read_of(ActivityKind kind) const noexcept;
  void count_dropped(std::uint8_t* buffer, std::size_t valid_bytes, void* last,
                     std::uint64_t records) noexcept;
  void read_one(const std::byte* record) noexcept;
  void read_kernel(const std::byte* record) noexcept;
  void read_copy(const std::byte* record) noexcept;
  void read_peer_copy(const std::byte* record) noexcept;
  void read_set(const std::byte* record) noexcept;
  void read_api(const std::byte* record, bool is_driver) noexcept;
  void read_synchronisation(const std::byte* record) noexcept;
  void read_memory(const std::byte* record) noexcept;
  void read_overhead(const std::byte* record) noexcept;
  void read_graph(const std::byte* record) noexcept;
  void read_stream(const std::byte* record) noexcept;
  void read_context(const std::byte* record) noexcept;

  DeviceShape shape_of(std::uint32_t device) const noexcept;
  std::uint32_t kernel_facts(const std::byte* record, std::uint32_t device) noexcept;
  std::uint32_t graph_facts(std::uint64_t node, std::uint32_t graph) noexcept;
  bool is_untimed(const event::DeviceWork& work) const noexcept;
  void write(const event::DeviceWork& work) noexcept;
  bool has(std::uint32_t since_version) const noexcept { return version_ >= since_version; }
  void learn_context(std::uint32_t context, std::uint32_t device) noexcept;
  std::uint16_t device_of(std::uint32_t context) const noexcept;

  ring::Ring ring_;
  std::uint32_t version_;
  NextRecord next_;
  ApiFunctions& functions_;
  TextStore texts_;
  Counts counts_;
  std::atomic<bool> unfinished_expected_{false};

  // Written once, before `is_known`.
  struct KnownShape {
    std::atomic<bool> is_known;
    DeviceShape shape;
  };
  static constexpr std::size_t most_devices = 64;
  std::array<KnownShape, most_devices> shapes_{};
  // Which device a context is on: context << 16 | device | bit 63; contexts are numbered from 1.
  static constexpr std::size_t context_slots = 256;
  std::array<std::atomic<std::uint64_t>, context_slots> contexts_{};
  std::atomic<std::uint64_t> devices_seen_{0};
  std::atomic<std::uint64_t> devices_in_use_{0};
  // context << 32 | stream, and its priority.
  struct Stream {
    std::atomic<std::uint64_t> id;
    std::atomic<std::int32_t> priority;
  };
  static constexpr std::uint32_t stream_slots = 128;
  std::array<Stream, stream_slots> streams_{};
  std::atomic<std::uint32_t> stream_count_{0};
};

}  // namespace traceagent::device
