#pragma once
// The ring file, byte by byte: what this process writes, what `traceagent recover` reads after its
// death. A change of any of these types changes `layout_version`; not what takes the place of
// padding, which is 0 in older rings.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/event/clock_anchor.hpp"
#include "agent/event/record.hpp"
#include "agent/ring/named_resources.hpp"

namespace traceagent::ring {

inline constexpr std::uint64_t magic = 0x474e4952'41525454u;  // "TTRARING"
inline constexpr std::uint32_t layout_version = 14;

inline constexpr std::size_t chunk_bytes = 64 * 1024;
inline constexpr std::size_t records_per_chunk = chunk_bytes / sizeof(event::Record) - 1;

enum class ChunkState : std::uint32_t { free = 0, owned = 1, retired = 2 };

// As the kernel has it: the rest of the 16 bytes is 0.
using ThreadName = char[16];

// One thread's piece of the ring: a header of a record's size, then the records.
struct alignas(64) Chunk {
  std::atomic<ChunkState> state;
  std::atomic<std::uint32_t> thread_id;
  // Unique and rising from 1: gives the order and the correlation ids. Stored last, with release:
  // a reader that finds 0 meets a chunk between two owners.
  std::atomic<std::uint64_t> claim_number;
  ThreadName thread_name;
  std::uint64_t reserved[4];
  event::Record records[records_per_chunk];
};
static_assert(sizeof(Chunk) == chunk_bytes);

// Why a record was not kept. Names in `drop_cause_names`; stored in the file: append only.
enum class DropCause : std::uint32_t {
  ring_full,        // no free chunk, ring.full: drop
  overwritten,      // ring.full: overwrite took the oldest chunk
  during_start,     // another thread was starting the agent
  names_full,       // the name is lost, the event is kept
  ranges_too_deep,  // more open NVTX ranges on one thread than we follow
  range_unmatched,  // an NVTX range's end without a known start
  communicators_full,
  step_tokens_full,  // step detection missed calls; no event is lost
  device_ring_full,  // no free chunk for what CUPTI told
  device_dropped,    // CUPTI had no buffer, by its own count, or handed over what cannot be read
  device_late,       // had not arrived when the window was written
  plan_ring_full,    // no free chunk for what NCCL's profiler interface told
  // Of windows whose files failed, and for which the ring had no room: with what they had lost
  // themselves. The next file tells of it, or who recovers.
  not_written,
  device_untimed,  // CUPTI could not tell when the work was done
  count
};
inline constexpr std::size_t drop_cause_count = static_cast<std::size_t>(DropCause::count);
// Of what belongs to no window that lacks a file: nobody misses it, and no file tells of it.
inline constexpr DropCause not_missed = DropCause::count;
using DropCounts = std::array<std::uint64_t, drop_cause_count>;
inline constexpr std::array<const char*, drop_cause_count> drop_cause_names = {
    "ring_full",        "overwritten",     "during_start",       "names_full",
    "ranges_too_deep",  "range_unmatched", "communicators_full", "step_tokens_full",
    "device_ring_full", "device_dropped",  "device_late",        "plan_ring_full",
    "not_written",      "device_untimed"};
// Of what CUPTI had to tell of work, and of calls: nothing else is left of it.
inline constexpr std::array lost_device_records = {
    DropCause::device_ring_full, DropCause::device_dropped, DropCause::device_untimed};
// A name that found no room is missing in all later windows: each tells of all so far.
constexpr bool counts_all_so_far(DropCause cause) noexcept {
  return cause == DropCause::names_full || cause == DropCause::communicators_full;
}

enum class DoorId : std::uint32_t { cudart, nccl, dlsym, driver, nccl_plugin, nvtx, cupti, count };
inline constexpr std::size_t door_count = static_cast<std::size_t>(DoorId::count);
inline constexpr std::array<const char*, door_count> door_names = {
    "cudart", "nccl", "dlsym", "driver", "nccl_plugin", "nvtx", "cupti"};

// written: or left out, or thrown away. failed: its file could not be written, and the ring holds
// it. giving_up: no more, and what is lost with it stands in it, but is not counted yet.
enum class WindowState : std::uint32_t {
  empty = 0,
  open = 1,
  closed = 2,
  written = 3,
  failed = 4,
  giving_up = 5
};

// Window::is_startup: only up to where half the ring was full, or to where step detection gave up.
inline constexpr std::uint32_t startup_until_full = 2, startup_until_patience = 3;

// One cycle of the schedule: the calls begun in [begin_ticks, end_ticks) go into one rank file.
struct Window {
  std::atomic<WindowState> state;
  std::uint32_t cycle;
  std::atomic<std::uint64_t> begin_ticks;
  std::atomic<std::uint64_t> end_ticks;
  std::atomic<std::uint64_t> first_step;
  std::atomic<std::uint64_t> last_step;
  std::atomic<std::uint32_t> file_name;  // offset of the file's path in the names, 0: none yet
  std::uint32_t is_startup;  // what came before any step was found: 1, or why not all of it
  // Header::dropped as it was at the edges: the difference is this window's own loss.
  DropCounts dropped_at_begin;
  DropCounts dropped_at_end;
  // Of DropCause::overwritten, which does not happen when the record was made: this window's own.
  std::atomic<std::uint64_t> overwritten;
  // Of DropCause::device_ring_full what is of this window by its time; Header::dropped has the
  // rest.
  std::atomic<std::uint64_t> device_full;
  std::atomic<std::uint64_t> device_full_told;  // of it, what its file tells, or not_told
  // CUPTI's id of a call after it, the oldest such that is known; 0: none.
  std::atomic<std::uint32_t> id_after;
};
inline constexpr std::uint64_t not_told = UINT64_MAX;
inline constexpr std::size_t window_slots = 64;

struct StepEdge {
  std::atomic<std::uint64_t> begin_ticks;  // 0: not known
  std::atomic<std::uint64_t> end_ticks;    // 0: still running
  std::atomic<std::uint64_t> step;
};
inline constexpr std::size_t step_slots = 4096;

struct Communicator {
  std::atomic<std::uint64_t> hash;  // equal on all its ranks; 0: slot unused
  std::int32_t rank;
  std::int32_t size;
  std::int32_t device;
  std::uint32_t name;  // names offset, 0: none
  std::uint64_t parent_hash;
};
inline constexpr std::size_t communicator_slots = 1024;

inline constexpr std::size_t anchor_slots = 64;

// Where one table is full, every second anchor goes into the other, which from then on is the one:
// what readers see, and what a kill leaves, is never in between. See anchors.hpp.
struct AnchorTables {
  std::atomic<std::uint32_t> state;  // anchors in it; above the lowest 8 bits: changes of the table
  std::array<std::array<event::ClockAnchor, anchor_slots>, 2> tables;
};

// Where the times of the device's work come from.
enum class DeviceSource : std::uint32_t {
  none,  // not asked for, or nothing has come yet
  cupti,
  cuda_events,  // CUPTI is taken or refused: NCCL operations are timed by events
  count
};

// What the drain needs to know of the device side, also after the process's death. Text is offsets
// into the names; 0: none.
struct DeviceBlock {
  std::atomic<DeviceSource> source;
  std::atomic<std::uint32_t> cupti_version;    // as cuptiGetVersion() says
  std::atomic<std::uint32_t> problem;          // one line: why there are no device times
  std::atomic<std::uint32_t> properties_json;  // Kineto's deviceProperties, a JSON array
  std::atomic<std::uint32_t> streams_json;  // {"<device>/<context>/<stream>": {"name", "priority"}}
  // CLOCK_REALTIME ns: recording was on from here, the last time; 0: it never was, or could not be
  // had again.
  std::atomic<std::int64_t> recording_since_ns;
  // … and until then; 0: it still is.
  std::atomic<std::int64_t> recording_until_ns;
  // Work that ended before this has been delivered (a flush that returned).
  std::atomic<std::int64_t> delivered_until_ns;
};

// Who this process is, as needed to write its rank file after its death. Text fields are offsets
// into the names, 0 meaning empty.
struct IdentityBlock {
  std::int64_t rank, local_rank, world_size, local_world_size, node_rank;
  std::int64_t trace_pid;  // pid shown in the trace: the global rank, but for a second claimant
  std::uint32_t run_name, run_key, host, command_line;
  std::uint32_t output_folder, file_template, merged_name, options_json, identity_source;
  std::uint32_t gzip;
  std::uint32_t step_description;
  std::uint32_t overwrite_files;
  std::uint64_t steps_per_epoch, samples_per_step, tokens_per_step;  // 0: unknown
  std::uint64_t checksum;                                            // see identity_checksum()
};

// Which of the budgets was spent. Names in `budget_names`; stored in the file: append only.
enum class BudgetKind : std::uint32_t { door, cpu, memory, disk, count };
inline constexpr std::size_t budget_kind_count = static_cast<std::size_t>(BudgetKind::count);
inline constexpr std::array<const char*, budget_kind_count> budget_names = {
    "busiest thread", "own threads", "memory", "disk"};

// What is left out for the budgets' sake, one bit each. Names in `left_out_names`; stored in the
// file: append only. The first eight are the doors' classes of calls.
using LeftOut = std::uint32_t;
inline constexpr LeftOut left_out_device = 1u << 8;   // what the GPU did
inline constexpr LeftOut left_out_windows = 1u << 9;  // whole windows
inline constexpr std::array<const char*, 10> left_out_names = {
    "launches",    "copies",        "memory",      "synchronisations", "streams",
    "collectives", "communicators", "NVTX ranges", "device work",      "windows"};

// A step of the governor, down or up.
struct BudgetChange {
  std::atomic<std::uint64_t> ticks;
  BudgetKind kind;
  std::uint32_t level;                // of this budget, from now on
  LeftOut left_out;                   // of all budgets together, from now on
  std::uint32_t measured_millionths;  // of the time, where that is what is limited
};
inline constexpr std::size_t budget_change_slots = 128;

struct GovernorBlock {
  std::atomic<std::uint32_t> change_count;       // ever made: slot = number mod budget_change_slots
  std::atomic<std::uint32_t> budget_millionths;  // budget.overhead; 0: no limit
  std::atomic<std::uint32_t> ns_per_1000_events;  // as calibrated: what a recorded call costs
  std::atomic<std::uint32_t> thread_millionths;   // cost of the busiest thread, of late
  std::atomic<std::uint32_t> own_cpu_millionths;  // of the process's share of the CPUs
  std::atomic<std::uint64_t> heap_bytes;          // the agent's own, the most so far
  std::atomic<std::uint64_t> disk_bytes;          // of finished files
  std::atomic<std::uint32_t> windows_left_out;    // closed and not written
  std::array<BudgetChange, budget_change_slots> changes;
};

// Where in the names a text lies that is replaced, time and again.
struct NamePlace {
  std::uint32_t offset, room_bytes;
};

struct Header {
  std::uint64_t magic;
  std::uint32_t layout_version;
  std::uint32_t agent_version;  // major<<16 | minor<<8 | patch
  std::uint64_t file_bytes;
  std::uint64_t names_offset, names_bytes;
  std::uint64_t chunks_offset, chunk_count;
  std::uint32_t owner_pid;
  std::uint32_t ticks_from_tsc;
  std::uint64_t owner_start_time;  // /proc/<pid>/stat field 22: tells a reused pid apart
  double nominal_ns_per_tick;
  std::atomic<std::uint32_t> ready;     // 1: everything above is valid (release)
  std::atomic<std::uint32_t> finished;  // 1: the owner ended in good order
  IdentityBlock identity;

  std::atomic<std::uint64_t> names_used;
  alignas(64) std::atomic<std::uint64_t> next_claim;
  std::atomic<std::uint64_t> free_chunks;
  // 0: the owner holds its lock; else it could not keep it, and this is the number of its pid
  // namespace (or 1), in which alone its pid says whether it lives. Older rings have 0 here.
  std::uint64_t lockless_in;
  // Of the host and the pid namespace that it was made in (namespace_of_host()), where alone it is
  // sure that the owner is dead; 0 in rings in private memory, and where that cannot be read. Older
  // rings have another number or 0.
  std::uint64_t owner_namespace;
  // Where the next free chunk is looked for: behind the one taken last, as they are freed in about
  // the order in which they were taken. Not at the number of the claim: for each chunk that a
  // sleeping thread keeps the claims would be one place further behind the free ones for good, and
  // each would look at all that lie between. Older rings have 0 here.
  std::atomic<std::uint64_t> next_place;
  double nominal_rate_error;  // of nominal_ns_per_tick, as a part of it. Older rings have 0 here.
  alignas(64) std::array<std::atomic<std::uint64_t>, drop_cause_count> dropped;
  std::array<std::atomic<std::uint64_t>, door_count> door_calls;  // counted by the drain
  std::array<std::atomic<std::uint32_t>, door_count> door_open;

  AnchorTables anchors;
  std::atomic<std::uint32_t> window_count;
  std::array<Window, window_slots> windows;
  std::atomic<std::uint64_t> step_count;  // steps ever begun: slot = number mod step_slots
  std::array<StepEdge, step_slots> steps;
  DeviceBlock device;
  std::atomic<std::uint32_t> communicator_count;
  std::array<Communicator, communicator_slots> communicators;
  NamedPlaces named_resources;
  GovernorBlock governor;
  // Of each of `windows`, once it has a file: CUPTI's latest id among its calls. Work with an id up
  // to this one was counted late there, if it came later. 0: none.
  std::array<std::atomic<std::uint32_t>, window_slots> last_correlation;
  // How much of `dropped` the files tell of, or none has to: of losses that are known late alone.
  std::array<std::atomic<std::uint64_t>, drop_cause_count> told;
  // A run of weeks has more windows than the names have room for. The description's are used by
  // turns: the one that is told of stays whole.
  std::array<NamePlace, window_slots> file_name_places;
  std::array<NamePlace, 2> description_places;
};

}  // namespace traceagent::ring
