#pragma once
// The life of one hooked call. Idle: one load and a jump. Otherwise: tell step detection, claim a
// record, publish it, call the real function, patch its end. No lock (but the loader's, at the
// first call of a function and at a new place of inner_launches.hpp), no allocation, no system
// call, errno untouched. Not noexcept: an exception of the job's callback passes
// through, as a longjmp does: no destructor runs (CMakeLists.txt).

#include <string_view>

#include "agent/api/function.hpp"
#include "agent/door/inner_launches.hpp"
#include "agent/door/jump.hpp"
#include "agent/door/start.hpp"
#include "agent/door/timed_call.hpp"
#include "agent/event/record.hpp"
#include "agent/event/ticks.hpp"
#include "agent/ring/writer.hpp"
#include "agent/step/state.hpp"

namespace traceagent::door {

using event::Record;

// `step.mark: call:FUNCTION` counts a function by the name the user knows: cudaLaunchKernel is also
// nvcc 13's __cudaLaunchKernel and the per-thread-stream variants of both. Out of line: what it
// needs of registers would be saved at every call.
[[gnu::noinline]] inline void report_if_counted(step::Tracker& steps, api::Function function,
                                                std::uint64_t ticks) noexcept {
  const api::FunctionName& name = api::name_of(function);
  const std::string_view counted = steps.called_function();
  if (name.shown == counted || name.symbol == counted) steps.call(counted, ticks);
}

// Whether step detection may know of such a call before it is made.
template <class Call>
inline constexpr bool can_be_expected = requires(const Call& call, step::Tracker& steps) {
  call.passes(steps);
};

template <class Call>
[[gnu::always_inline]] inline void observe(api::Function function, const Call& call,
                                           std::uint64_t ticks) noexcept {
  step::Tracker* steps = tracker.load(std::memory_order_acquire);
  if (steps == nullptr) return;
  // First, and in line: most calls of a job whose steps are followed are expected, and are so
  // with no mark but `auto`.
  if constexpr (can_be_expected<Call>) {
    if (call.passes(*steps)) return;
  }
  if ((steps->interest() & step::interest_calls) != 0) [[unlikely]] {
    report_if_counted(*steps, function, ticks);
  }
  call.observe(*steps, ticks);
}

// What a call began: the record, null where there is none, and its ticks as they were published.
struct Begun {
  Record* record;
  std::uint64_t ticks;
};

// Null where nothing is to be recorded.
template <class Call>
[[gnu::always_inline]] inline Record* begin_record(api::Function function, const Call& call,
                                                   std::uint64_t ticks) noexcept {
  ring::Writer& writer = ring::writer;
  Record* record = ring::claim(writer);
  if (record == nullptr) [[unlikely]] {
    return nullptr;
  }
  record->function = static_cast<std::uint16_t>(function);
  record->flags = 0;
  call.fill(*record);
  ring::publish(*record, ticks);
  return record;
}

inline void tell_of_first_device_call(const Record& record, int result) noexcept {
  if (on_first_device_call.load(std::memory_order_relaxed) == nullptr) [[likely]] {
    return;
  }
  if (result != 0 || !event::uses_device(record.layout)) return;
  if (auto* told = on_first_device_call.exchange(nullptr, std::memory_order_acquire)) told();
}

// Where the flight recorder has gone round during the call, the place is another call's by now.
template <class Call>
[[gnu::always_inline]] inline void end_record(const Begun& begun, const Call& call,
                                              int result) noexcept {
  Record* record = begun.record;
  if (record == nullptr) return;
  if (record->begin_ticks.load(std::memory_order_relaxed) != begun.ticks) [[unlikely]] {
    return;
  }
  record->result = result;
  call.finish(*record, result);
  // Release: a reader that sees the end sees the result too.
  record->end_ticks.store(event::read_ticks(), std::memory_order_release);
  tell_of_first_device_call(*record, result);
}

template <class Call>
bool is_idle(step::Mode mode) noexcept {
  // Whether anything is recorded or not.
  if constexpr (requires { Call::before_every(); }) Call::before_every();
  if constexpr (requires { Call::is_watched(); }) {
    if (Call::is_watched()) return false;
  }
  return mode == step::Mode::pass;
}

// A call whose arguments are wanted before it is made, recorded or not.
template <class Describe>
void tell_watcher(const Describe& describe) noexcept {
  if constexpr (requires { decltype(describe())::is_watched(); }) describe().tell();
}

// True for a frame that was called, however indirectly, by the one at `outer` (0: none), if that
// still runs. Addresses rather than a depth: a longjmp would leave a depth too high for ever, an
// address is seen to be stale as soon as the stack has shrunk past it.
inline bool is_inside(std::uintptr_t outer, std::uintptr_t frame) noexcept { return frame < outer; }

// What libcudart calls of the driver, and the driver of itself, is part of the outermost call.
class CudaFrame {
 public:
  explicit CudaFrame(std::uintptr_t frame) noexcept
      : outer_(is_inside(ring::writer.cuda_frame, frame) ? ring::writer.cuda_frame : 0) {
    if (outer_ == 0) ring::writer.cuda_frame = frame;
  }
  ~CudaFrame() { ring::writer.cuda_frame = outer_; }
  CudaFrame(const CudaFrame&) = delete;
  CudaFrame& operator=(const CudaFrame&) = delete;

 private:
  const std::uintptr_t outer_;
};

// Whether a call that step detection knew of may go on by a jump.
template <class Call>
inline constexpr bool may_pass_straight = wrappers_jump&& can_be_expected<Call>;

// Whether step detection is told of a call, has heard of it from NCCL's that it is within, or knew
// of libcudart's that it is within.
enum class Told : std::uint8_t { now, by_nccl, in_passing };

// All that comes before the real call. In line, as all that a recorded call goes through: a
// function of its own would be given what describes the call in memory.
template <class Call>
[[gnu::always_inline]] inline Begun begin_call(api::Function function, const Call& call,
                                               Told told) noexcept {
  const std::uint64_t ticks = event::read_ticks();
  if (told == Told::now) observe(function, call, ticks);
  // Read only now: this very call may have begun the step that opens a window.
  if (step::mode_of(Call::call_class) == step::Mode::record) [[likely]] {
    return {begin_record(function, call, ticks), ticks};
  }
  return {nullptr, ticks};
}

template <class Call, class Real>
auto observe_and_record(api::Function function, Call call, const Real& real, Told told) {
  const Begun begun = begin_call(function, call, told);
  LaunchTimer<Call> timer(function, call, told == Told::by_nccl ? nullptr : begun.record);
  const auto result = real();
  timer.end(static_cast<int>(result) == 0);
  end_record(begun, call, static_cast<int>(result));
  return result;
}

// The way of a call that does not pass straight through. `describe` makes the Call, `real` calls
// the real function.
template <class Describe, class Real>
auto take_part(api::Function function, const Describe& describe, const Real& real) {
  using Call = decltype(describe());
  tell_watcher(describe);
  step::Mode mode = step::mode_of(Call::call_class);
  if (mode == step::Mode::unstarted) [[unlikely]] {
    start_process();
    mode = step::mode_of(Call::call_class);
  }
  if (mode <= step::Mode::pass || ring::writer.nested_in_start != 0 ||
      !cudart_is_open.load(std::memory_order_relaxed)) [[unlikely]] {
    return real();
  }
  const CudaFrame outermost(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  return observe_and_record(function, describe(), real, Told::now);
}

}  // namespace traceagent::door
