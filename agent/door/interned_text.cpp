#include "agent/door/interned_text.hpp"

#include <array>
#include <atomic>
#include <cstddef>

#include "agent/event/hash.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {
namespace {

// One in so many bytes. Beside the quarter that facts of launches may take, and the eighth of names
// of streams and threads, kernels have an eighth for themselves.
constexpr std::uint64_t share_of_ranges = 2;

// Key and offset in one word, so that one load sees both: the upper 32 bits of the hash, then the
// offset. The text itself is compared: two names may share 32 bits.
constexpr std::size_t slots = 8192;
constexpr std::size_t longest_probe = 16;
constinit std::array<std::atomic<std::uint64_t>, slots> table{};

// Of the ring's bytes for names, by texts of ranges.
constinit std::atomic<std::uint64_t> range_bytes{0};

void keep(std::uint64_t hash, std::uint32_t offset) noexcept {
  const std::uint64_t entry = (hash & 0xffffffff'00000000u) | offset;
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    std::uint64_t empty = 0;
    auto& slot = table[(hash + probe) % slots];
    if (slot.compare_exchange_strong(empty, entry, std::memory_order_acq_rel)) return;
  }
  // No room beside it: a job whose ranges all have names of their own has filled the table. Those
  // that come again must find theirs, or each range would add its name anew until the ring has room
  // for none: one of the old ones makes room.
  table[(hash + offset / 8 % longest_probe) % slots].store(entry, std::memory_order_release);
}

std::string_view cut(std::string_view text) noexcept {
  return text.substr(0, longest_interned_text);
}

// 0: they have had their share, or the ring is full.
std::uint32_t add_of_range(const ring::Ring& ring, std::string_view text) noexcept {
  const std::uint64_t bytes = ring::room_of_name(text);
  const std::uint64_t share = ring.header().names_bytes / share_of_ranges;
  if (range_bytes.load(std::memory_order_relaxed) + bytes > share) return 0;
  const std::uint32_t offset = ring.add_name_uncounted(text);
  if (offset != 0) range_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return offset;
}

}  // namespace

std::uint32_t find_interned(std::string_view text) noexcept {
  const ring::Ring& ring = ring::target.ring;
  if (!ring.valid() || text.empty()) return 0;
  text = cut(text);
  const std::uint64_t hash = event::hash_text(text);
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    const std::uint64_t entry = table[(hash + probe) % slots].load(std::memory_order_acquire);
    if (entry == 0) return 0;
    const auto offset = static_cast<std::uint32_t>(entry);
    if (((entry ^ hash) >> 32) == 0 && ring.name(offset) == text) return offset;
  }
  return 0;
}

namespace {

// `add(ring, text)` where it is not known yet; 0: it has found no room.
template <class Add>
std::uint32_t find_or_add(std::string_view text, const Add& add) noexcept {
  const ring::Ring& ring = ring::target.ring;
  if (!ring.valid() || text.empty()) return 0;
  const std::uint32_t known = find_interned(text);
  if (known != 0) return known;
  text = cut(text);
  const std::uint32_t offset = add(ring, text);
  if (offset != 0) keep(event::hash_text(text), offset);
  return offset;
}

}  // namespace

std::uint32_t intern(std::string_view text) noexcept {
  return find_or_add(
      text, [](const ring::Ring& ring, std::string_view whole) { return ring.add_name(whole); });
}

std::uint32_t intern_of_range(std::string_view text) noexcept {
  return find_or_add(text, [](const ring::Ring& ring, std::string_view whole) {
    const std::uint32_t offset = add_of_range(ring, whole);
    if (offset == 0 && ring::has_open_window(ring)) ring.count_drop(ring::DropCause::names_full);
    return offset;
  });
}

void forget_interned() noexcept {
  range_bytes.store(0, std::memory_order_relaxed);
  for (auto& slot : table) slot.store(0, std::memory_order_release);
}

}  // namespace traceagent::door
