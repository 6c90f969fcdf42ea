#pragma once

#include <atomic>
#include <cstdint>

/// The truth file: a header, then records of one size. Shared by the engine, which writes it, and
/// by simgpu-truth, which prints it.
namespace simgpu {

inline constexpr std::uint64_t truth_magic = 0x31485455'52544753;  // "SGTRTUH1"
inline constexpr std::uint32_t truth_version = 3;
inline constexpr std::uint32_t no_name = 0;

enum class Library : std::uint8_t { none, cudart, nccl, cuda };
enum class Variant : std::uint8_t { plain, per_thread_stream, per_thread_default };
enum class RecordKind : std::uint8_t { none, call, device, mark, name, enabled, cupti };
enum class RecordState : std::uint32_t { empty, open, closed };

/// What a device record describes.
enum class WorkKind : std::uint8_t { none, kernel, copy, set, collective, host, marker };

/// What became of the CUPTI record of a piece of device work. Off: its kind was not enabled when
/// the work was launched. Pending: never handed over. Incomplete: handed over by a forced flush
/// before the work had ended. Lost: its context ended first. Untimed: handed over without its
/// times.
enum class CuptiState : std::uint8_t {
  off,
  pending,
  delivered,
  dropped,
  incomplete,
  lost,
  untimed
};

struct TruthHeader {
  std::uint64_t magic;
  std::uint32_t version;
  std::uint32_t record_bytes;
  std::int32_t pid;
  std::int32_t rank;
  std::int64_t clock_offset_ns;  // what the script adds to device times (a skewed device clock)
  std::atomic<std::uint64_t> claimed;
  char unused[216];
};

/// Numbers only: whatever would need formatting is a name id, spelled out once in name records.
struct Record {
  std::atomic<RecordState> state;
  RecordKind kind;
  Library library;
  Variant variant;
  WorkKind work;
  std::uint16_t function;
  std::uint16_t cudart_major;
  std::uint32_t tid;
  std::int32_t result;
  std::uint32_t name;    // kernel or mark
  std::uint64_t number;  // of the call; for device work, of the call that launched it
  std::int64_t begin_ns;
  std::int64_t end_ns;   // 0 in an open record: the call never returned
  std::uint64_t stream;  // as passed
  std::uint64_t stream_id;
  std::uint64_t bytes;
  std::uint64_t count;  // elements; the counter of a mark
  std::uint64_t address;
  std::uint64_t comm_hash;
  std::uint64_t comm_seq;
  std::int32_t comm_rank;
  std::int32_t comm_size;
  std::int32_t dtype;
  std::int32_t op;
  std::int32_t peer;  // or root
  std::int32_t device;
  std::int32_t copy_kind;
  std::uint32_t shared_bytes;
  std::uint32_t grid[3];
  std::uint32_t block[3];
  std::uint64_t inside;  // the number of the call that a library made this call of the driver in
  // The rest for device work alone.
  std::int64_t kernel_end_ns;  // of all that runs as one kernel, where that is more than this
  std::uint64_t graph_node;
  std::uint32_t graph;
  std::uint32_t correlation;
  std::uint32_t context;
  std::uint32_t registers;
  std::uint32_t part;  // of the kernel, from 0
  std::uint32_t cluster[3];
  std::atomic<CuptiState> cupti;
  std::uint64_t launch_number;   // of the call in which it was launched: a group's end, say
  std::int64_t launch_begin_ns;  // of the API call, which may be inside that call
  char unused[16];
};

/// From when till when a CUPTI activity kind was enabled (kind: enabled), and what one libcupti did
/// in all (kind: cupti).
struct CuptiRecord {
  std::atomic<RecordState> state;
  RecordKind kind;
  std::uint8_t major;
  std::uint16_t activity;
  std::int64_t begin_ns;
  std::int64_t end_ns;                   // 0: to the end
  std::atomic<std::uint64_t> delivered;  // records, of every kind
  std::atomic<std::uint64_t> dropped;
  std::atomic<std::uint64_t> dropped_work;  // of these, records of device work
  std::atomic<std::uint64_t> lost;
  std::atomic<std::uint64_t> incomplete;
  std::atomic<std::uint64_t> buffers_requested;
  std::atomic<std::uint64_t> buffers_refused;
  std::atomic<std::uint64_t> buffers_completed;
  std::atomic<std::uint64_t> buffers_dropped;
  std::atomic<std::uint64_t> subscriptions;
  std::atomic<std::uint64_t> refusals;  // of subscriptions and of kinds
  std::atomic<std::uint64_t> overheads;
  char unused[136];
};

/// Spells out a name id; long names go on in further records with a higher part.
struct NameRecord {
  std::atomic<RecordState> state;
  RecordKind kind;
  std::uint8_t part;
  std::uint16_t length;
  std::uint32_t name;
  char text[244];
};

static_assert(sizeof(TruthHeader) == 256);
static_assert(sizeof(Record) == 256);
static_assert(sizeof(NameRecord) == sizeof(Record));
static_assert(sizeof(CuptiRecord) == sizeof(Record));

}  // namespace simgpu
