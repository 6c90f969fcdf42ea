#include "agent/door/interned_text.hpp"

#include <array>
#include <atomic>
#include <cstddef>

#include "agent/event/hash.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {
namespace {

// Key and offset in one word, so that one load sees both: the upper 32 bits of the hash, then the
// offset. The text itself is compared: two names may share 32 bits.
constexpr std::size_t slots = 8192;
constexpr std::size_t longest_probe = 16;
constinit std::array<std::atomic<std::uint64_t>, slots> table{};

}  // namespace

std::uint32_t intern(std::string_view text) noexcept {
  const ring::Ring& ring = ring::target.ring;
  if (!ring.valid() || text.empty()) return 0;
  text = text.substr(0, longest_interned_text);
  const std::uint64_t hash = event::hash_text(text);
  const std::uint64_t key = hash & 0xffffffff'00000000u;
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    auto& slot = table[(hash + probe) % slots];
    std::uint64_t entry = slot.load(std::memory_order_acquire);
    if (entry == 0) {
      const std::uint32_t offset = ring.add_name(text);
      if (offset == 0) return 0;
      // Lost to another thread: its text may be ours or not; ours is stored all the same.
      slot.compare_exchange_strong(entry, key | offset, std::memory_order_acq_rel);
      return offset;
    }
    const auto offset = static_cast<std::uint32_t>(entry);
    if ((entry & 0xffffffff'00000000u) == key && ring.name(offset) == text) return offset;
  }
  // No room beside it: a job whose ranges all have names of their own has filled the table. Those
  // that come again must find theirs, or each range would add its name anew until the ring has room
  // for none: one of the old ones makes room.
  const std::uint32_t offset = ring.add_name(text);
  const std::uint64_t left = hash + offset / 8 % longest_probe;
  if (offset != 0) table[left % slots].store(key | offset, std::memory_order_release);
  return offset;
}

void forget_interned() noexcept {
  for (auto& slot : table) slot.store(0, std::memory_order_release);
}

}  // namespace traceagent::door
