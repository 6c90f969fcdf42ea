#include "agent/door/communicator_slots.hpp"

#include <algorithm>
#include <array>
#include <atomic>

#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {
namespace {

// When each place was given up; 0: it was not. Of the ring of that generation.
constinit std::array<std::atomic<std::uint64_t>, ring::communicator_slots> given_up{};
constinit std::atomic<std::uint32_t> generation{0};

void forget_former_ring() noexcept {
  const std::uint32_t now = ring::target.generation.load(std::memory_order_acquire);
  std::uint32_t known = generation.load(std::memory_order_relaxed);
  if (known == now || !generation.compare_exchange_strong(known, now)) return;
  for (auto& ticks : given_up) ticks.store(0, std::memory_order_relaxed);
}

// Of the windows whose records have yet to be written.
std::uint64_t first_unwritten_ticks(const ring::Header& header) noexcept {
  std::uint64_t first = UINT64_MAX;
  for (const ring::Window& window : header.windows) {
    if (!ring::is_unwritten(window)) continue;
    first = std::min(first, window.begin_ticks.load(std::memory_order_relaxed));
  }
  return first;
}

// communicator_slots: none.
std::uint32_t take_given_up(const ring::Header& header) noexcept {
  const std::uint64_t unwritten = first_unwritten_ticks(header);
  for (std::uint32_t index = 0; index < ring::communicator_slots; ++index) {
    std::uint64_t ticks = given_up[index].load(std::memory_order_relaxed);
    if (ticks == 0 || ticks >= unwritten) continue;
    if (given_up[index].compare_exchange_strong(ticks, 0, std::memory_order_acq_rel)) return index;
  }
  return ring::communicator_slots;
}

}  // namespace

std::uint32_t take_communicator_slot(const CommunicatorEntry& from) noexcept {
  const ring::Ring& ring = ring::target.ring;
  if (!ring.valid()) return 0;
  forget_former_ring();
  ring::Header& header = ring.header();
  std::uint32_t index = header.communicator_count.fetch_add(1, std::memory_order_relaxed);
  if (index >= ring::communicator_slots) {
    header.communicator_count.store(ring::communicator_slots, std::memory_order_relaxed);
    index = take_given_up(header);
  }
  if (index >= ring::communicator_slots) {
    ring.count_drop(ring::DropCause::communicators_full);
    return 0;
  }
  ring::Communicator& entry = header.communicators[index];
  entry.hash.store(0, std::memory_order_release);
  entry.size = from.size;
  entry.rank = from.rank;
  entry.device = from.device;
  entry.hash.store(from.hash, std::memory_order_release);
  return index + 1;
}

void free_communicator_slot(std::uint32_t slot) noexcept {
  if (slot == 0 || slot > ring::communicator_slots || !ring::target.ring.valid()) return;
  forget_former_ring();
  given_up[slot - 1].store(event::read_ticks(), std::memory_order_release);
}

}  // namespace traceagent::door
