#pragma once

#include <atomic>
#include <cstdint>

/// The truth file: a header, then records of one size. Shared by the engine, which writes it, and
/// by simgpu-truth, which prints it.
namespace simgpu {

inline constexpr std::uint64_t truth_magic = 0x31485455'52544753;  // "SGTRTUH1"
inline constexpr std::uint32_t truth_version = 1;
inline constexpr std::uint32_t no_name = 0;

enum class Library : std::uint8_t { none, cudart, nccl };
enum class Variant : std::uint8_t { plain, per_thread_stream, per_thread_default };
enum class RecordKind : std::uint8_t { none, call, device, mark, name };
enum class RecordState : std::uint32_t { empty, open, closed };

/// What a device record describes.
enum class WorkKind : std::uint8_t { none, kernel, copy, set, collective, host, marker };

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
  char unused[96];
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

}  // namespace simgpu
