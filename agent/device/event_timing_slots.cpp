#include "agent/device/event_timing_slots.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include "agent/ring/writer.hpp"

namespace traceagent::device {

constinit std::array<std::atomic<EventSlot*>, event_slot_count> event_slots{};
constinit std::atomic<std::uint64_t> wanted_devices{0};

namespace {

// The one used last: nearly always that of the next operation too.
constinit thread_local EventSlot* latest_slot __attribute__((tls_model("initial-exec"))) = nullptr;

std::uint32_t thread_id() noexcept {
  const ring::Chunk* chunk = ring::writer.chunk;
  if (chunk != nullptr) return chunk->thread_id.load(std::memory_order_relaxed);
  return static_cast<std::uint32_t>(syscall(SYS_gettid));
}

bool is_usable(const EventSlot& slot, int device) noexcept {
  // Acquire: one that has been given a new life is seen with it.
  return slot.device == device && !slot.is_lost.load(std::memory_order_acquire);
}

template <class Visit>
EventSlot* find_slot(int device, const Visit& visit) noexcept {
  for (auto& place : event_slots) {
    // Acquire pairs with the drain's release: the slot is whole.
    EventSlot* slot = place.load(std::memory_order_acquire);
    if (slot != nullptr && is_usable(*slot, device) && visit(*slot)) return slot;
  }
  return nullptr;
}

}  // namespace

EventSlot* slot_of_thread(int device) noexcept {
  if (latest_slot != nullptr && is_usable(*latest_slot, device)) return latest_slot;
  const std::uint32_t self = thread_id();
  EventSlot* slot = find_slot(device, [self](const EventSlot& each) {
    return each.owner.load(std::memory_order_relaxed) == self;
  });
  if (slot == nullptr) {
    slot = find_slot(device, [self](EventSlot& each) {
      std::uint32_t nobody = 0;
      return each.owner.compare_exchange_strong(nobody, self, std::memory_order_acq_rel);
    });
  }
  if (slot == nullptr) {
    want_device(device);
    return nullptr;
  }
  latest_slot = slot;
  return slot;
}

void forget_event_slots() noexcept {
  latest_slot = nullptr;
  for (auto& place : event_slots) place.store(nullptr, std::memory_order_relaxed);
  wanted_devices.store(0, std::memory_order_relaxed);
}

}  // namespace traceagent::device
