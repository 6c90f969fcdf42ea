#include "agent/step/state.hpp"

namespace traceagent::step {

constinit std::array<std::atomic<Mode>, call_class_count> modes{};
constinit std::atomic<bool> recording{false};
constinit std::atomic<void (*)() noexcept> on_recording{nullptr};

namespace {

bool records(State state) noexcept {
  return state == State::startup || state == State::warmup || state == State::active;
}

Mode observe_if(Interest wanted) noexcept { return wanted != 0 ? Mode::observe : Mode::pass; }

Mode unrecorded_mode(CallClass call_class, Interest interest, ClassMask counted) noexcept {
  if ((interest & interest_calls) != 0 && (counted & mask_of(call_class)) != 0) {
    return Mode::observe;
  }
  switch (call_class) {
    case CallClass::launch:
      return observe_if(interest & interest_launches);
    case CallClass::copy:
      return observe_if(interest & interest_copies);
    case CallClass::synchronise:
      return observe_if(interest & interest_synchronisations);
    case CallClass::range:
      return observe_if(interest & interest_ranges);
    // Sequence numbers count every collective of a communicator's life, or ranks whose windows
    // open at different calls would disagree about them.
    case CallClass::collective:
      // Where functions of CUDA make the steps, NCCL's own calls of them are to be known as such.
      if ((interest & interest_calls) != 0 && (counted & cudart_classes) != 0) return Mode::observe;
      return (interest & interest_collectives) != 0 ? Mode::observe : Mode::count;
    case CallClass::communicator:
      return Mode::observe;
    default:
      return Mode::pass;
  }
}

Mode mode_for(State state, CallClass call_class, Interest interest, const Watch& watch) noexcept {
  if ((watch.open & mask_of(call_class)) == 0) return Mode::pass;
  if (records(state) && (watch.left_out & mask_of(call_class)) == 0) return Mode::record;
  if (state == State::off) return Mode::pass;
  // The function that makes the steps is heard all the same.
  if ((watch.unheard & mask_of(call_class)) != 0) interest &= interest_calls;
  return unrecorded_mode(call_class, interest, watch.counted);
}

void set_recording(bool on) noexcept {
  recording.store(on, std::memory_order_seq_cst);
  if (auto* listener = on_recording.load(std::memory_order_acquire)) listener();
}

}  // namespace

void set_modes(State state, Interest interest, const Watch& watch) noexcept {
  for (std::size_t i = 0; i < call_class_count; ++i) {
    const auto call_class = static_cast<CallClass>(i);
    // Sequentially consistent for WindowKeeper::refresh_modes(), which two threads may be in.
    modes[i].store(mode_for(state, call_class, interest, watch), std::memory_order_seq_cst);
  }
  // What NCCL's profiler interface tells goes with the collectives.
  set_recording(records(state) && (watch.left_out & mask_of(CallClass::collective)) == 0);
}

void set_all_modes(Mode mode) noexcept {
  for (auto& each : modes) each.store(mode, std::memory_order_relaxed);
  set_recording(mode == Mode::record);
}

}  // namespace traceagent::step
