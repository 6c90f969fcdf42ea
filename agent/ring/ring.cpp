#include "agent/ring/ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

#include "agent/event/hash.hpp"

namespace traceagent::ring {
namespace {

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t smallest_names_bytes = 64 * 1024;
// Kernels made of templates have names of 10 KiB; one that is cut cannot be demangled.
constexpr std::size_t longest_name = 16383;

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

std::uint64_t room_of_name(std::string_view text) noexcept {
  return round_up(sizeof(std::uint32_t) + std::min(text.size(), longest_name), 8);
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

// 0 when the area is full.
std::uint32_t Ring::reserve_names(std::uint64_t bytes) const noexcept {
  const std::uint64_t needed = round_up(bytes, 8);
  Header& head = header();
  std::uint64_t used = head.names_used.load(std::memory_order_relaxed);
  do {
    if (used + needed > head.names_bytes) return 0;
  } while (!head.names_used.compare_exchange_weak(used, used + needed, std::memory_order_relaxed));
  return static_cast<std::uint32_t>(used);
}

// The record that carries this offset is published with release, which orders the bytes too.
void Ring::write_name(std::uint32_t offset, std::string_view text) const noexcept {
  const auto length = static_cast<std::uint32_t>(text.size());
  std::memcpy(names() + offset, &length, sizeof length);
  std::memcpy(names() + offset + sizeof length, text.data(), length);
}

std::uint32_t Ring::add_name_uncounted(std::string_view text) const noexcept {
  text = text.substr(0, longest_name);
  const std::uint32_t offset = reserve_names(sizeof(std::uint32_t) + text.size());
  if (offset != 0) write_name(offset, text);
  return offset;
}

std::uint32_t Ring::add_name(std::string_view text) const noexcept {
  const std::uint32_t offset = add_name_uncounted(text);
  if (offset == 0) count_drop(DropCause::names_full);
  return offset;
}

std::uint32_t Ring::replace_name(NamePlace& place, std::string_view text) const noexcept {
  text = text.substr(0, longest_name);
  const std::uint64_t needed = sizeof(std::uint32_t) + text.size();
  if (needed > place.room_bytes) {
    // The next one is mostly as long, or a digit longer.
    const std::uint64_t room = round_up(needed + 32, 64);
    const std::uint32_t offset = reserve_names(room);
    if (offset == 0) return 0;
    place = {offset, static_cast<std::uint32_t>(room)};
  }
  write_name(place.offset, text);
  return place.offset;
}

std::uint64_t Ring::close_names() const noexcept {
  return header().names_used.exchange(header().names_bytes, std::memory_order_relaxed);
}

bool has_unwritten_window(const Ring& ring) noexcept {
  const auto& windows = ring.header().windows;
  return std::any_of(windows.begin(), windows.end(), is_unwritten);
}

// Slots are used in turn: the latest alone can be.
bool has_open_window(const Ring& ring) noexcept {
  const std::uint32_t count = ring.header().window_count.load(std::memory_order_relaxed);
  const Window& latest = ring.header().windows[(count - 1) % window_slots];
  return count != 0 && latest.state.load(std::memory_order_relaxed) == WindowState::open;
}

std::size_t unwritten_windows(const Ring& ring) noexcept {
  const auto& windows = ring.header().windows;
  return static_cast<std::size_t>(std::count_if(windows.begin(), windows.end(), is_unwritten));
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

void note_dropped(const Ring& ring, DropCounts& at_edge) noexcept {
  for (std::size_t i = 0; i < drop_cause_count; ++i) {
    at_edge[i] = ring.header().dropped[i].load(std::memory_order_relaxed);
  }
}

DropCounts dropped_in(const Ring& ring, const Window& window) noexcept {
  DropCounts dropped{};
  note_dropped(ring, dropped);
  const bool is_open = window.state.load(std::memory_order_acquire) == WindowState::open;
  for (std::size_t i = 0; i < drop_cause_count; ++i) {
    const auto cause = static_cast<DropCause>(i);
    if (counts_all_so_far(cause)) continue;
    if (!is_open) dropped[i] = window.dropped_at_end[i];
    dropped[i] -= std::min(dropped[i], window.dropped_at_begin[i]);
  }
  dropped[static_cast<std::size_t>(DropCause::overwritten)] =
      window.overwritten.load(std::memory_order_relaxed);
  dropped[static_cast<std::size_t>(DropCause::device_ring_full)] += own_device_losses(window);
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

}  // namespace traceagent::ring
