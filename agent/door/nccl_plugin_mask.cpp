#include "agent/door/nccl_plugin_mask.hpp"

#include <dlfcn.h>

#include <array>
#include <atomic>

#include "agent/door/loaded_objects.hpp"
#include "agent/door/nccl_plugin.hpp"
#include "agent/door/nccl_plugin_layouts.hpp"
#include "agent/step/state.hpp"

namespace traceagent::door {
namespace nccl_plugin {
namespace {

// One for each NCCL in the process: hardly ever a second.
constinit std::array<std::atomic<int*>, 4> masks{};
constinit std::atomic<int> wanted{0};
constinit int users_mask = 0;

void store_masks() noexcept {
  const bool recording = step::recording.load(std::memory_order_relaxed);
  const int mask =
      (recording ? wanted.load(std::memory_order_relaxed) : 0) | wanted_by_users_plugin();
  for (const auto& each : masks) {
    int* target = each.load(std::memory_order_acquire);
    if (target == nullptr) return;
    // NCCL reads it with an atomic load. Written only when it changes: all its threads read it.
    if (__atomic_load_n(target, __ATOMIC_RELAXED) != mask) {
      __atomic_store_n(target, mask, __ATOMIC_RELAXED);
    }
  }
}

}  // namespace

void follow_mask(int* mask) noexcept {
  if (mask == nullptr) return;
  for (auto& each : masks) {
    int* known = nullptr;
    if (each.compare_exchange_strong(known, mask, std::memory_order_acq_rel) || known == mask) {
      // A library that the job closes would take its mask with it.
      if (known == nullptr) keep_loaded(mask);
      dlerror();  // a failed look-up is ours: NCCL must not read it
      break;
    }
  }
  step::on_recording.store(&store_masks, std::memory_order_release);
  store_masks();
}

int* mask_of_users_plugin() noexcept { return &users_mask; }
int wanted_by_users_plugin() noexcept { return __atomic_load_n(&users_mask, __ATOMIC_RELAXED); }

bool is_recorded(unsigned type) noexcept {
  return step::recording.load(std::memory_order_relaxed) &&
         (static_cast<unsigned>(wanted.load(std::memory_order_relaxed)) & type) != 0;
}

}  // namespace nccl_plugin

void ask_nccl_for(const NcclEvents& events) noexcept {
  using namespace nccl_plugin;
  int mask = 0;
  if (events.plans) mask |= collective_event | point_to_point_event | copy_engine_event;
  if (events.plans && events.kernel_channels) mask |= kernel_channel_event;
  if (events.plans && events.network) {
    mask |= proxy_operation_event | proxy_step_event | network_event;
  }
  wanted.store(mask, std::memory_order_relaxed);
}

}  // namespace traceagent::door
