#pragma once
// What the doors do with a call, by the class of the call: the one load of an idle wrapper.

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "agent/step/tracker.hpp"

namespace traceagent::step {

enum class CallClass : std::uint8_t {
  launch,
  copy,
  memory,
  synchronise,
  stream,        // streams, events, graphs, devices
  collective,    // and point-to-point
  communicator,  // their life, groups, registration
  range,
  count
};
inline constexpr std::size_t call_class_count = static_cast<std::size_t>(CallClass::count);

enum class Mode : std::uint8_t {
  unstarted = 0,  // so that wrappers which run before any constructor start the agent themselves
  pass,           // straight through
  count,          // sequence numbers alone; only collectives have any
  observe,        // steps too, record nothing
  record
};

enum class State : std::uint8_t { off, startup, wait, warmup, active };
inline constexpr const char* state_names[] = {"off", "startup", "wait", "warmup", "active"};

// Relaxed on both sides: a wrapper that still sees the old mode records or skips one call more,
// and the drain decides by the window's ticks what belongs into it.
[[gnu::visibility("hidden")]] extern constinit std::array<std::atomic<Mode>, call_class_count>
    modes;

inline Mode mode_of(CallClass call_class) noexcept {
  return modes[static_cast<std::size_t>(call_class)].load(std::memory_order_relaxed);
}

// Sets of classes, one bit each.
using ClassMask = std::uint32_t;
constexpr ClassMask mask_of(CallClass call_class) noexcept {
  return ClassMask{1} << static_cast<unsigned>(call_class);
}
inline constexpr ClassMask range_classes = mask_of(CallClass::range);
inline constexpr ClassMask nccl_classes =
    mask_of(CallClass::collective) | mask_of(CallClass::communicator);
inline constexpr ClassMask all_classes = (ClassMask{1} << call_class_count) - 1;
inline constexpr ClassMask cudart_classes =
    mask_of(CallClass::launch) | mask_of(CallClass::copy) | mask_of(CallClass::memory) |
    mask_of(CallClass::synchronise) | mask_of(CallClass::stream);

// What governs the modes beside the state.
struct Watch {
  ClassMask open = range_classes | nccl_classes | cudart_classes;  // doors the user left open
  ClassMask counted = 0;  // where the function of `step.mark: call:` may be
  // For the sake of the budget: not recorded, and of these, not even looked at for steps.
  ClassMask left_out = 0;
  ClassMask unheard = 0;
};

// Whether the schedule records: for what is no call of the job, such as NCCL's profiler interface.
extern constinit std::atomic<bool> recording;
// Called after each time `recording` may have changed, by whichever thread moves the schedule;
// null: nobody listens. (The doors may not be included from here.)
extern constinit std::atomic<void (*)() noexcept> on_recording;

// Sets every class's mode for a state; `interest` is what step detection must see meanwhile.
void set_modes(State state, Interest interest, const Watch& watch) noexcept;
void set_all_modes(Mode mode) noexcept;

}  // namespace traceagent::step
