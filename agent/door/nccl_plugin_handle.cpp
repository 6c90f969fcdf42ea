#include "agent/door/nccl_plugin_handle.hpp"

namespace traceagent::door::nccl_plugin {
namespace {

// Place in the ring (slot 10 bits, chunk 20), then who had the chunk.
constexpr unsigned slot_bits = 10, place_bits = 30;
static_assert(ring::records_per_chunk <= std::size_t{1} << slot_bits);
constexpr std::uint64_t most_chunks = std::uint64_t{1} << (place_bits - slot_bits);

// The forked child's ring counts its claims anew: the generation tells it from its parent's.
std::uint64_t owner_of(const ring::Chunk& chunk) noexcept {
  const std::uint64_t generation = ring::target.generation.load(std::memory_order_relaxed);
  const std::uint64_t claim = chunk.claim_number.load(std::memory_order_relaxed);
  return (claim + generation * 7919) & 0xffffff;
}

}  // namespace

void* handle_of(const ring::Ring& ring, const event::Record& record) noexcept {
  const auto* chunks = reinterpret_cast<const std::byte*>(&ring.chunk(0));
  const auto distance =
      static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(&record) - chunks);
  const std::uint64_t index = distance / ring::chunk_bytes;
  if (index >= most_chunks) return make_handle(HandleKind::nothing, 0);
  const ring::Chunk& chunk = ring.chunk(index);
  const auto slot = static_cast<std::uint64_t>(&record - chunk.records);
  return make_handle(HandleKind::record, owner_of(chunk) << place_bits | index << slot_bits | slot);
}

event::Record* record_of(const ring::Ring& ring, const void* handle) noexcept {
  if (!is_own(handle) || kind_of(handle) != HandleKind::record || !ring.valid()) return nullptr;
  const std::uint64_t place = value_of(handle) & ((std::uint64_t{1} << place_bits) - 1);
  const std::uint64_t index = place >> slot_bits;
  const std::uint64_t slot = place & ((std::uint64_t{1} << slot_bits) - 1);
  if (index >= ring.chunk_count() || slot >= ring::records_per_chunk) return nullptr;
  ring::Chunk& chunk = ring.chunk(index);
  if (owner_of(chunk) != value_of(handle) >> place_bits) return nullptr;
  event::Record& record = chunk.records[slot];
  return record.layout == event::Layout::collective_plan ? &record : nullptr;
}

}  // namespace traceagent::door::nccl_plugin
