#pragma once
// The ring of this process, or of a dead one, as memory.

#include <cstdint>
#include <string>
#include <string_view>

#include "agent/ring/layout.hpp"

namespace traceagent::ring {

struct Sizes {
  std::uint64_t names_bytes;
  std::uint64_t chunk_count;
  std::uint64_t file_bytes;
};
// How a ring of about `wanted_bytes` is divided: 1/16 for names, at least two chunks.
Sizes divide(std::uint64_t wanted_bytes) noexcept;

// A mapped ring. Owner or reader alike; the mapping lives as long as the process unless unmap() is
// called, because a thread of the job may be inside a wrapper at any time.
class Ring {
 public:
  Ring() = default;
  explicit Ring(void* base) noexcept : base_(static_cast<std::byte*>(base)) {}

  bool valid() const noexcept { return base_ != nullptr; }
  Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
  std::uint64_t chunk_count() const noexcept { return header().chunk_count; }
  Chunk& chunk(std::uint64_t index) const noexcept {
    return reinterpret_cast<Chunk*>(base_ + header().chunks_offset)[index];
  }
  char* names() const noexcept { return reinterpret_cast<char*>(base_) + header().names_offset; }

  // The name stored at `offset`, "" for 0 and for anything that does not lie within the names.
  std::string_view name(std::uint32_t offset) const noexcept;
  // Appends a name (cut at 16,383 bytes) and returns its offset; 0 when the area is full, counted.
  std::uint32_t add_name(std::string_view text) const noexcept;
  // For who counts it himself, where an event is kept that lacks it.
  std::uint32_t add_name_uncounted(std::string_view text) const noexcept;
  // Into its place, over what was there, or into a larger one; 0 when the area is full. Nobody may
  // read what was there.
  std::uint32_t replace_name(NamePlace& place, std::string_view text) const noexcept;
  // No name finds room any more. Returns how many bytes of the area are used.
  std::uint64_t close_names() const noexcept;

  void count_drop(DropCause cause, std::uint64_t n = 1) const noexcept {
    if (cause == not_missed) return;
    header().dropped[static_cast<std::size_t>(cause)].fetch_add(n, std::memory_order_relaxed);
  }

 private:
  std::uint32_t reserve_names(std::uint64_t bytes) const noexcept;
  void write_name(std::uint32_t offset, std::string_view text) const noexcept;

  std::byte* base_ = nullptr;
};

// Of the area of names, that a name takes.
std::uint64_t room_of_name(std::string_view text) noexcept;

// Lays an empty ring into zeroed memory of `sizes.file_bytes`. `ready` stays 0.
Ring format(void* memory, const Sizes& sizes) noexcept;

// Where a chunk goes for the next records of a thread; nullptr when the ring is full.
// `overwrite` takes the oldest retired chunk instead of giving up.
Chunk* claim_chunk(const Ring& ring, std::uint32_t thread_id, const ThreadName& thread_name,
                   bool overwrite) noexcept;
// The owner will write no more into it. What it wrote stays until the drain frees it.
void retire_chunk(Chunk& chunk) noexcept;
// Whether any was since this was asked last, in this process: a look at all chunks of a waiting
// agent's ring, ten times a second, took half a percent of a core, and its cache.
bool take_note_of_retired() noexcept;
// Zeroes the records and gives a retired chunk back; false when it is not retired (any more), or
// when a record in it began at `before_ticks` or later, or has not ended. Off the hot path: the
// drain alone calls it.
bool free_chunk_before(const Ring& ring, Chunk& chunk, std::uint64_t before_ticks) noexcept;
// Whatever is in it.
bool free_chunk(const Ring& ring, Chunk& chunk) noexcept;
// By the owner, once no record is wanted any more, and where none was ever overwritten: the memory
// of what no thread holds goes back to the system, and nothing can be claimed or named from then
// on. What readers look at without a record stays: the header, the names so far, and of each chunk
// the page that says whose it is, where a thread may look at any time.
void give_back_memory(const Ring& ring) noexcept;

// No file has its records yet: they are wanted.
inline bool is_unwritten(const Window& window) noexcept {
  const WindowState state = window.state.load(std::memory_order_acquire);
  return state == WindowState::open || state == WindowState::closed || state == WindowState::failed;
}
// Its slot is not to be used again yet.
inline bool is_in_use(const Window& window) noexcept {
  return is_unwritten(window) ||
         window.state.load(std::memory_order_acquire) == WindowState::giving_up;
}
bool has_unwritten_window(const Ring& ring) noexcept;
// What is recorded now will be in a file, as far as is known now.
bool has_open_window(const Ring& ring) noexcept;
std::size_t unwritten_windows(const Ring& ring) noexcept;
// In good order: what it left unwritten was closed, and is whole.
inline bool has_finished(const Ring& ring) noexcept {
  return ring.header().finished.load(std::memory_order_acquire) != 0;
}
// `window` is one of the ring's own.
inline std::atomic<std::uint32_t>& last_correlation_of(const Ring& ring,
                                                       const Window& window) noexcept {
  Header& header = ring.header();
  return header.last_correlation[static_cast<std::size_t>(&window - header.windows.data())];
}
// Where the slot's windows have the names of their files; `window` is one of the ring's own.
inline NamePlace& file_name_place_of(const Ring& ring, const Window& window) noexcept {
  Header& header = ring.header();
  return header.file_name_places[static_cast<std::size_t>(&window - header.windows.data())];
}
// All slots by their window's begin: used in turn, they are not in that order.
std::array<Window*, window_slots> windows_in_order(const Ring& ring) noexcept;

// Of device_ring_full, by the time of what was lost: so far, or what its file tells.
inline std::uint64_t own_device_losses(const Window& window) noexcept {
  const std::uint64_t told = window.device_full_told.load(std::memory_order_relaxed);
  return told != not_told ? told : window.device_full.load(std::memory_order_relaxed);
}
// What was lost in the window, by cause; for an open one so far. Lost names and communicators count
// from the ring's start: a window that needs them lacks them whenever they were lost.
DropCounts dropped_in(const Ring& ring, const Window& window) noexcept;
// The losses so far, as a window keeps them at its edges.
void note_dropped(const Ring& ring, DropCounts& at_edge) noexcept;

// Unique in the process: the place of the record in the order of all that were ever claimed.
std::uint64_t correlation_of(const Ring& ring, const event::Record& record) noexcept;

// Over the identity and its texts, but for step_description, which comes late: what of a damaged
// ring decides where files are written.
std::uint64_t identity_checksum(const Ring& ring) noexcept;

}  // namespace traceagent::ring
