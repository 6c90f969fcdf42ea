#include "agent/ring/ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "agent/event/hash.hpp"
#include "agent/event/usual_floats.hpp"

namespace traceagent::ring {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t smallest_names_bytes = 64 * 1024;
// Kernels made of templates have names of 10 KiB; one that is cut cannot be demangled.
constexpr std::size_t longest_name = 16383;

void clear_records(Chunk& chunk) noexcept {
  chunk.claim_number.store(0, std::memory_order_relaxed);
  // Plain memset: no other thread reads a chunk that is being given back or taken over, but a
  // recovering reader, which treats a zero begin_ticks as "no record".
  std::memset(static_cast<void*>(chunk.records), 0, sizeof chunk.records);
}

void take(const Ring& ring, Chunk& chunk, std::uint32_t thread_id, const char* name) noexcept {
  chunk.thread_id.store(thread_id, std::memory_order_relaxed);
  std::memcpy(chunk.thread_name, name, sizeof chunk.thread_name);
  const std::uint64_t before = ring.header().next_claim.fetch_add(1, std::memory_order_relaxed);
  chunk.claim_number.store(before + 1, std::memory_order_release);
}

std::uint64_t number_of(const Chunk& chunk) noexcept {
  return chunk.claim_number.load(std::memory_order_relaxed);
}

// Of those that were claimed later than `after`.
Chunk* oldest_retired(const Ring& ring, std::uint64_t after) noexcept {
  Chunk* oldest = nullptr;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    Chunk& chunk = ring.chunk(i);
    if (chunk.state.load(std::memory_order_acquire) != ChunkState::retired) continue;
    if (number_of(chunk) <= after) continue;
    if (oldest == nullptr || number_of(chunk) < number_of(*oldest)) oldest = &chunk;
  }
  return oldest;
}

// What arrived later than it was: its times stand in args[0] and args[1].
bool is_told_of_device(event::Layout layout) noexcept {
  return layout == event::Layout::device_work || layout == event::Layout::api_call ||
         layout == event::Layout::timed_by_event;
}

// Windows that have no file yet, the one that began last first, and how many of their records go.
class WantingWindows {
 public:
  explicit WantingWindows(const Ring& ring) noexcept {
    const Header& header = ring.header();
    const std::uint32_t anchors = header.anchor_count.load(std::memory_order_acquire);
    const event::TickConverter clock(header.anchors.data(),
                                     std::min<std::size_t>(anchors, anchor_slots),
                                     header.nominal_ns_per_tick);
    // By their begins as they are seen once: the job moves them meanwhile, and a sort needs one
    // order.
    for (Window& window : ring.header().windows) {
      if (!is_unwritten(window)) continue;
      const std::uint64_t from = window.begin_ticks.load(std::memory_order_relaxed);
      each_[count_++] = {from, clock.realtime_ns(from), &window, 0};
    }
    std::sort(begin(), end(), [](const Wanting& a, const Wanting& b) { return a.from > b.from; });
  }

  void count(const event::Record& record) noexcept {
    const std::uint64_t ticks = record.begin_ticks.load(std::memory_order_relaxed);
    if (ticks == 0) return;
    Wanting* const of = std::find_if(
        begin(), end(), [&](const Wanting& each) { return is_of(each, record, ticks); });
    if (of != end()) ++of->lost;
  }

  // How many there were in all.
  std::uint64_t charge() noexcept {
    std::uint64_t lost = 0;
    for (const Wanting& each : std::span(begin(), end())) {
      if (each.lost == 0) continue;
      each.window->overwritten.fetch_add(each.lost, std::memory_order_relaxed);
      lost += each.lost;
    }
    return lost;
  }

 private:
  struct Wanting {
    std::uint64_t from;
    std::int64_t from_ns;
    Window* window;
    std::uint64_t lost;
  };

  static bool is_of(const Wanting& each, const event::Record& record,
                    std::uint64_t ticks) noexcept {
    // The device may be at a window's work when that is over, and is before it begins the next
    // one's.
    if (is_told_of_device(record.layout)) {
      return static_cast<std::int64_t>(record.args[0]) >= each.from_ns;
    }
    if (ticks < each.from) return false;
    if (!event::is_host_call(record.layout)) return true;
    const std::uint64_t end = each.window->end_ticks.load(std::memory_order_relaxed);
    return end == 0 || ticks < end;
  }

  Wanting* begin() noexcept { return each_.data(); }
  Wanting* end() noexcept { return each_.data() + count_; }

  std::array<Wanting, window_slots> each_;
  std::size_t count_ = 0;
};

// What was recorded in warm-up is no loss. Not inlined: its floats stay behind UsualFloats.
[[gnu::noinline]] std::uint64_t charge_windows(const Ring& ring, const Chunk& chunk) noexcept {
  WantingWindows wanting(ring);
  for (const event::Record& record : chunk.records) wanting.count(record);
  return wanting.charge();
}

// In a thread of the job, whose floats may trap: times of the device are compared with ticks.
void count_overwritten(const Ring& ring, const Chunk& chunk) noexcept {
  const event::UsualFloats usual_floats;
  ring.count_drop(DropCause::overwritten, charge_windows(ring, chunk));
}

// A call that still runs, or a range that is open, will patch its end into its place.
bool is_in_flight(const Chunk& chunk) noexcept {
  return std::any_of(std::begin(chunk.records), std::end(chunk.records), [](const auto& record) {
    return record.begin_ticks.load(std::memory_order_relaxed) != 0 &&
           record.end_ticks.load(std::memory_order_relaxed) == 0;
  });
}

Chunk* take_over_oldest(const Ring& ring) noexcept {
  // Bounded: under contention give up rather than spin in the job's thread.
  constexpr int most_attempts = 8;
  std::uint64_t after = 0;
  for (int attempt = 1; attempt <= most_attempts; ++attempt) {
    Chunk* chunk = oldest_retired(ring, after);
    if (chunk == nullptr) return nullptr;
    after = number_of(*chunk);
    auto expected = ChunkState::retired;
    if (!chunk->state.compare_exchange_strong(expected, ChunkState::owned,
                                              std::memory_order_acquire)) {
      continue;
    }
    // That many old ones in flight are calls that were left by an exception: they never end.
    if (attempt < most_attempts && is_in_flight(*chunk)) {
      retire_chunk(*chunk);
      continue;
    }
    count_overwritten(ring, *chunk);
    clear_records(*chunk);
    return chunk;
  }
  return nullptr;
}

Chunk* take_free(const Ring& ring) noexcept {
  Header& header = ring.header();
  // A full ring must cost one load, not a scan of all chunks for every event.
  if (header.free_chunks.load(std::memory_order_relaxed) == 0) return nullptr;
  const std::uint64_t count = header.chunk_count;
  const std::uint64_t start = header.next_claim.load(std::memory_order_relaxed) % count;
  for (std::uint64_t i = 0; i < count; ++i) {
    Chunk& chunk = ring.chunk((start + i) % count);
    auto expected = ChunkState::free;
    // Acquire pairs with the release in free_chunk(): the zeroed records are seen.
    if (chunk.state.load(std::memory_order_relaxed) == ChunkState::free &&
        chunk.state.compare_exchange_strong(expected, ChunkState::owned,
                                            std::memory_order_acquire)) {
      header.free_chunks.fetch_sub(1, std::memory_order_relaxed);
      return &chunk;
    }
  }
  return nullptr;
}

}  // namespace

Sizes divide(std::uint64_t wanted_bytes) noexcept {
  const std::uint64_t head = round_up(sizeof(Header), page_bytes);
  const std::uint64_t names =
      round_up(std::max(wanted_bytes / 16, smallest_names_bytes), page_bytes);
  const std::uint64_t used = head + names;
  const std::uint64_t left = wanted_bytes > used ? wanted_bytes - used : 0;
  const std::uint64_t chunks = std::max<std::uint64_t>(left / chunk_bytes, 2);
  return {names, chunks, used + chunks * chunk_bytes};
}

Ring format(void* memory, const Sizes& sizes) noexcept {
  auto* header = new (memory) Header;
  header->layout_version = layout_version;
  header->file_bytes = sizes.file_bytes;
  header->names_offset = round_up(sizeof(Header), page_bytes);
  header->names_bytes = sizes.names_bytes;
  header->chunks_offset = header->names_offset + sizes.names_bytes;
  header->chunk_count = sizes.chunk_count;
  header->names_used.store(8, std::memory_order_relaxed);  // offset 0 means "no name"
  header->free_chunks.store(sizes.chunk_count, std::memory_order_relaxed);
  // Last: a ring whose maker was killed before this is known to hold nothing.
  std::atomic_ref(header->magic).store(magic, std::memory_order_release);
  return Ring(memory);
}

std::string_view Ring::name(std::uint32_t offset) const noexcept {
  const std::uint64_t area = header().names_bytes;
  if (offset < 8 || offset + sizeof(std::uint32_t) > area) return {};
  std::uint32_t length;
  std::memcpy(&length, names() + offset, sizeof length);
  // A longer one is none of ours: a damaged ring's records would each have the whole area copied.
  if (length > longest_name || length > area - offset - sizeof length) return {};
  return {names() + offset + sizeof length, length};
}

std::uint32_t Ring::add_name(std::string_view text) const noexcept {
  const auto length = static_cast<std::uint32_t>(std::min(text.size(), longest_name));
  const std::uint64_t needed = round_up(sizeof length + length, 8);
  Header& head = header();
  std::uint64_t used = head.names_used.load(std::memory_order_relaxed);
  do {
    if (used + needed > head.names_bytes) {
      count_drop(DropCause::names_full);
      return 0;
    }
  } while (!head.names_used.compare_exchange_weak(used, used + needed, std::memory_order_relaxed));
  std::memcpy(names() + used, &length, sizeof length);
  std::memcpy(names() + used + sizeof length, text.data(), length);
  // The record that carries this offset is published with release, which orders the bytes too.
  return static_cast<std::uint32_t>(used);
}

Chunk* claim_chunk(const Ring& ring, std::uint32_t thread_id, const char* thread_name,
                   bool overwrite) noexcept {
  Chunk* chunk = take_free(ring);
  if (chunk == nullptr && overwrite) chunk = take_over_oldest(ring);
  if (chunk != nullptr) take(ring, *chunk, thread_id, thread_name);
  return chunk;
}

void retire_chunk(Chunk& chunk) noexcept {
  chunk.state.store(ChunkState::retired, std::memory_order_release);
}

namespace {

// Owned by who clears it, so that no overwriting thread takes it meanwhile.
bool take_retired(Chunk& chunk) noexcept {
  auto expected = ChunkState::retired;
  return chunk.state.compare_exchange_strong(expected, ChunkState::owned,
                                             std::memory_order_acquire);
}

bool is_done_with(const Chunk& chunk, std::uint64_t before_ticks) noexcept {
  return std::all_of(std::begin(chunk.records), std::end(chunk.records), [&](const auto& record) {
    const std::uint64_t begin = record.begin_ticks.load(std::memory_order_acquire);
    // A call that still runs will patch its end into this very place.
    return begin == 0 ||
           (begin < before_ticks && record.end_ticks.load(std::memory_order_relaxed) != 0);
  });
}

void clear_and_free(const Ring& ring, Chunk& chunk) noexcept {
  clear_records(chunk);
  chunk.state.store(ChunkState::free, std::memory_order_release);
  ring.header().free_chunks.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

bool free_chunk(const Ring& ring, Chunk& chunk) noexcept {
  if (!take_retired(chunk)) return false;
  clear_and_free(ring, chunk);
  return true;
}

bool free_chunk_before(const Ring& ring, Chunk& chunk, std::uint64_t before_ticks) noexcept {
  if (chunk.state.load(std::memory_order_acquire) != ChunkState::retired) return false;
  if (!is_done_with(chunk, before_ticks) || !take_retired(chunk)) return false;
  // Again, now that nobody can take it: an overwriting thread may have filled it with new records
  // and retired it since it was looked at.
  if (!is_done_with(chunk, before_ticks)) {
    retire_chunk(chunk);
    return false;
  }
  clear_and_free(ring, chunk);
  return true;
}

bool has_unwritten_window(const Ring& ring) noexcept {
  const auto& windows = ring.header().windows;
  return std::any_of(windows.begin(), windows.end(), is_unwritten);
}

std::array<Window*, window_slots> windows_in_order(const Ring& ring) noexcept {
  // As they are seen once: the job opens windows meanwhile, and a sort needs one order.
  std::array<std::pair<std::uint64_t, Window*>, window_slots> keyed;
  std::array<Window*, window_slots> ordered;
  std::transform(ring.header().windows.begin(), ring.header().windows.end(), keyed.begin(),
                 [](Window& window) {
                   return std::pair(window.begin_ticks.load(std::memory_order_relaxed), &window);
                 });
  std::sort(keyed.begin(), keyed.end());
  std::transform(keyed.begin(), keyed.end(), ordered.begin(),
                 [](const auto& each) { return each.second; });
  return ordered;
}

void note_dropped(const Ring& ring, std::array<std::uint64_t, drop_cause_count>& at_edge) noexcept {
  for (std::size_t i = 0; i < drop_cause_count; ++i) {
    at_edge[i] = ring.header().dropped[i].load(std::memory_order_relaxed);
  }
}

std::array<std::uint64_t, drop_cause_count> dropped_in(const Ring& ring,
                                                       const Window& window) noexcept {
  std::array<std::uint64_t, drop_cause_count> dropped{};
  note_dropped(ring, dropped);
  const bool is_open = window.state.load(std::memory_order_acquire) == WindowState::open;
  for (std::size_t i = 0; i < drop_cause_count; ++i) {
    const auto cause = static_cast<DropCause>(i);
    if (cause == DropCause::names_full || cause == DropCause::communicators_full) continue;
    if (!is_open) dropped[i] = window.dropped_at_end[i];
    dropped[i] -= std::min(dropped[i], window.dropped_at_begin[i]);
  }
  dropped[static_cast<std::size_t>(DropCause::overwritten)] =
      window.overwritten.load(std::memory_order_relaxed);
  return dropped;
}

std::uint64_t correlation_of(const Ring& ring, const event::Record& record) noexcept {
  const auto* chunks = reinterpret_cast<const std::byte*>(&ring.chunk(0));
  const auto distance =
      static_cast<std::size_t>(reinterpret_cast<const std::byte*>(&record) - chunks);
  const Chunk& chunk = ring.chunk(distance / chunk_bytes);
  const std::size_t slot = static_cast<std::size_t>(&record - chunk.records);
  const std::uint64_t number = chunk.claim_number.load(std::memory_order_relaxed);
  return number * records_per_chunk + slot + 1;
}

std::uint64_t identity_checksum(const Ring& ring) noexcept {
  IdentityBlock identity = ring.header().identity;
  identity.step_description = 0;
  identity.checksum = 0;
  static_assert(std::has_unique_object_representations_v<IdentityBlock>, "padding has no value");
  std::uint64_t sum = event::hash_bytes(&identity, sizeof identity, ring.header().owner_pid);
  for (const std::uint32_t text :
       {identity.run_name, identity.run_key, identity.host, identity.command_line,
        identity.output_folder, identity.file_template, identity.merged_name, identity.options_json,
        identity.identity_source}) {
    sum = event::combine(sum, event::hash_text(ring.name(text)));
  }
  return sum;
}

void add_anchor(const Ring& ring, const event::ClockAnchor& anchor) noexcept {
  Header& header = ring.header();
  std::uint32_t count = header.anchor_count.load(std::memory_order_relaxed);
  if (count == anchor_slots) {
    // Readers may come at any time: the count shrinks first, and what they then see are anchors.
    header.anchor_count.store(1, std::memory_order_release);
    for (std::uint32_t i = 1; i < anchor_slots / 2; ++i) header.anchors[i] = header.anchors[2 * i];
    count = anchor_slots / 2;
  }
  if (count > 0 && anchor.ticks <= header.anchors[count - 1].ticks) return;
  if (anchor.realtime_ns == 0) return;  // the clock was refused
  header.anchors[count] = anchor;
  header.anchor_count.store(count + 1, std::memory_order_release);
}

}  // namespace traceagent::ring
