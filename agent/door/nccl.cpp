// The wrappers of NCCL. NCCL calls itself through the PLT under these names (ncclBcast is
// ncclBroadcast inside): only the outermost call of a thread takes part.

#include <nccl.h>

#include "agent/door/call.hpp"
#include "agent/door/nccl_calls.hpp"
#include "agent/door/nccl_plugin.hpp"
#include "agent/door/targets.hpp"
#include "agent/door/timed_nccl_call.hpp"
#include "agent/door/wrappers.hpp"

namespace traceagent::door {

constinit thread_local GroupStreams group_streams __attribute__((tls_model("initial-exec"))) = {};
constinit thread_local AwaitedCommunicators awaited_communicators
    __attribute__((tls_model("initial-exec"))) = {};

namespace {

// NCCL's ncclBcast calls ncclBroadcast, and no other collective calls one (seen in 2.28.9). What is
// built in NCCL's place may do so, an all-to-all of sends and receives: known as soon as one of its
// calls has been seen from within another.
constinit std::atomic<bool> calls_are_nested{false};

// A stack address rather than a counter: a longjmp out of NCCL would leave a counter high for ever,
// an address is seen to be stale as soon as the stack has shrunk past it.
class OutermostCall {
 public:
  explicit OutermostCall(std::uintptr_t frame) noexcept
      : nested_(ring::writer.nccl_frame != 0 && frame < ring::writer.nccl_frame),
        latest_(latest_communicator) {
    if (nested_) return;
    ring::writer.nccl_frame = frame;
    // What is called from within goes the slow way, and is found to be nested there.
    latest_communicator = &no_communicator;
  }
  ~OutermostCall() {
    if (!nested_) ring::writer.nccl_frame = 0;
  }
  OutermostCall(const OutermostCall&) = delete;
  OutermostCall& operator=(const OutermostCall&) = delete;
  bool nested() const noexcept { return nested_; }
  // The communicator of the collective before this call.
  CommunicatorState& latest() const noexcept { return *latest_; }

 private:
  const bool nested_;
  CommunicatorState* const latest_;
};

[[gnu::always_inline]] inline bool steps_are_watched() noexcept {
  const step::Tracker* steps = tracker.load(std::memory_order_acquire);
  return steps != nullptr &&
         (steps->interest() & (step::interest_collectives | step::interest_calls)) != 0;
}

template <class Call>
void note_nested(api::Function function) noexcept {
  if (Call::call_class != CallClass::collective || function == api::Function::ncclBroadcast) return;
  calls_are_nested.store(true, std::memory_order_relaxed);
}

template <class Call, class Real>
ncclResult_t take_part_nccl(api::Function function, Call call, const Real& real) {
  if (step::mode_of(Call::call_class) == step::Mode::unstarted) [[unlikely]] {
    start_process();
  }
  if (ring::writer.nested_in_start != 0) [[unlikely]] {
    return real();
  }
  const OutermostCall outermost(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)));
  if (outermost.nested()) [[unlikely]] {
    note_nested<Call>(function);
    return real();
  }

  call.before(outermost.latest());
  // A tick read costs more than all the rest: none is made where a call is merely counted.
  Begun begun{nullptr, 0};
  if (step::mode_of(Call::call_class) == step::Mode::record || steps_are_watched()) [[likely]] {
    begun = begin_call(function, call, Told::now);
  }
  NcclTimer<Call> timer(function, call, begun.record);
  // NCCL's profiler interface, called from inside, tells how this very call is carried out.
  open_nccl_call = begun.record;
  const ncclResult_t result = real();
  open_nccl_call = nullptr;
  call.after(result);
  if (!calls_are_nested.load(std::memory_order_relaxed)) [[likely]] {
    call.remember(outermost.latest());
  }
  timer.end(call, result);
  end_record(begun, call, result);
  return result;
}

// The idle way of a collective: its sequence number alone. False where that needs the slow way.
template <class Call>
bool count_alone(Call& call) noexcept {
  if constexpr (Call::calls_another) return false;
  return call.count_idle();
}

// The same of one that step detection knew beforehand.
template <class Call>
[[gnu::always_inline]] inline bool is_expected_alone(Call& call) noexcept {
  if constexpr (Call::calls_another) return false;
  step::Tracker* steps = tracker.load(std::memory_order_acquire);
  return steps != nullptr && call.count_expected(*steps);
}

}  // namespace
}  // namespace traceagent::door

// The target is loaded once, before anything is counted: another thread may find a second copy of
// NCCL meanwhile, and take it away. Where there is none the whole call goes the slow way, out of
// line: what looks the target up would have registers saved by every call.
#define NCCL(name, parameters, arguments, ...)                                                 \
  [[gnu::noinline]] static ncclResult_t slow_##name parameters {                               \
    using traceagent::api::Function;                                                           \
    using namespace traceagent::door;                                                          \
    using Real = ncclResult_t(*) parameters;                                                   \
    const auto real = reinterpret_cast<Real>(real_function(Library::nccl, Function::name));    \
    if (real == nullptr) return ncclSystemError;                                               \
    return take_part_nccl(Function::name, __VA_ARGS__, [&] { return real arguments; });        \
  }                                                                                            \
  [[gnu::noinline]] static ncclResult_t short_##name parameters {                              \
    using namespace traceagent::door;                                                          \
    using Real = ncclResult_t(*) parameters;                                                   \
    const auto real =                                                                          \
        reinterpret_cast<Real>(known_target(Library::nccl, traceagent::api::Function::name));  \
    auto call = __VA_ARGS__;                                                                   \
    if (real != nullptr && is_expected_alone(call)) [[likely]] {                               \
      return call.after_idle(real arguments);                                                  \
    }                                                                                          \
    return slow_##name arguments;                                                              \
  }                                                                                            \
  extern "C"                                                                                   \
      [[gnu::visibility("default")]] ncclResult_t traceagent_##name parameters __asm__(#name); \
  ncclResult_t traceagent_##name parameters {                                                  \
    using namespace traceagent::door;                                                          \
    using Real = ncclResult_t(*) parameters;                                                   \
    using traceagent::step::Mode;                                                              \
    const Mode mode = traceagent::step::mode_of(decltype(__VA_ARGS__)::call_class);            \
    const auto real =                                                                          \
        reinterpret_cast<Real>(known_target(Library::nccl, traceagent::api::Function::name));  \
    if (real == nullptr) [[unlikely]] {                                                        \
      calling = __builtin_return_address(0);                                                   \
      return slow_##name arguments;                                                            \
    }                                                                                          \
    if (mode == Mode::observe) return short_##name arguments;                                  \
    if (mode == Mode::count) [[likely]] {                                                      \
      auto call = __VA_ARGS__;                                                                 \
      if (count_alone(call)) [[likely]] {                                                      \
        return call.after_idle(real arguments);                                                \
      }                                                                                        \
    } else if (mode == Mode::pass) {                                                           \
      return real arguments;                                                                   \
    }                                                                                          \
    return slow_##name arguments;                                                              \
  }

#include "agent/api/nccl.def"

#undef NCCL

namespace traceagent::door {

std::span<const Wrapper> nccl_wrappers() noexcept {
#define NCCL(name, parameters, arguments, ...) \
  {api::Function::name, reinterpret_cast<void*>(&traceagent_##name)},
  static const Wrapper wrappers[] = {
#include "agent/api/nccl.def"
  };
#undef NCCL
  return wrappers;
}

}  // namespace traceagent::door
