#include "agent/door/nccl_plugin_chain.hpp"

#include <array>
#include <atomic>

#include "agent/door/nccl_plugin_layouts.hpp"
#include "agent/event/hash.hpp"

namespace traceagent::door::nccl_plugin {
namespace {

struct Known {
  std::atomic<void*> users;
  std::atomic<void*> own;
};
constinit std::array<Known, 4096> known{};

Known& place_of(const void* handle) noexcept {
  return known[event::mix(number_of(handle)) % known.size()];
}

// What a type is shown for, beside itself.
constexpr std::uint32_t parts = proxy_operation_event | proxy_step_event | network_event;
constexpr std::uint32_t work = parts | kernel_channel_event;
constexpr std::uint32_t plans = collective_event | point_to_point_event;
constexpr std::uint32_t calls = collective_call_event | point_to_point_call_event;

}  // namespace

bool would_be_shown(std::uint32_t type, std::uint32_t mask) noexcept {
  switch (type) {
    case group_call_event:
      return (mask & (type | calls | kernel_launch_event | group_event | plans | work)) != 0;
    case collective_call_event:
      return (mask & (type | collective_event | work)) != 0;
    case point_to_point_call_event:
      return (mask & (type | point_to_point_event | work)) != 0;
    case group_event:
      return (mask & (type | plans | work)) != 0;
    case collective_event:
    case point_to_point_event:
      return (mask & (type | work)) != 0;
    case proxy_operation_event:
      return (mask & parts) != 0;
    case proxy_step_event:
      return (mask & (type | network_event)) != 0;
    case copy_engine_event:
      return (mask & (7u * copy_engine_event)) != 0;  // and its two parts
    default:
      return (mask & type) != 0;
  }
}

void* own_handle(void* handle) noexcept {
  if (!is_users(handle)) return handle;
  const Known& place = place_of(handle);
  if (place.users.load(std::memory_order_acquire) != handle) return nullptr;
  void* own = place.own.load(std::memory_order_relaxed);
  // Taken for another handle meanwhile?
  return place.users.load(std::memory_order_acquire) == handle ? own : nullptr;
}

void remember_own_handle(void* users, void* own) noexcept {
  Known& place = place_of(users);
  place.users.store(nullptr, std::memory_order_release);
  place.own.store(own, std::memory_order_release);
  place.users.store(users, std::memory_order_release);
}

}  // namespace traceagent::door::nccl_plugin
