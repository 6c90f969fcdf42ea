#pragma once
// Calls that are timed by CUDA events where CUPTI cannot be had (agent/device/event_timing.hpp): a
// timer for each type of call, empty for all others. Made after the call's record and before the
// real call; end() after it.

#include <concepts>
#include <string_view>

#include "agent/api/function.hpp"
#include "agent/device/event_timing.hpp"
#include "agent/door/calls.hpp"

namespace traceagent::door {

template <class Call>
class LaunchTimer {
 public:
  LaunchTimer(api::Function, const Call&, const Record*) noexcept {}
  void end(bool) noexcept {}
};

template <class Call>
concept Launch = Call::call_class == CallClass::launch&& requires(const Call& call) {
  { call.stream } -> std::convertible_to<cudaStream_t>;
};

template <Launch Call>
class LaunchTimer<Call> {
 public:
  LaunchTimer(api::Function function, const Call& call, const Record* record) noexcept {
    if (record == nullptr || !device::launches_are_timed.load(std::memory_order_relaxed)) return;
    timer_.begin(*record, stream_of(function, call.stream));
  }
  void end(bool launched) noexcept { timer_.end(launched); }

 private:
  // Programs built with --default-stream per-thread say 0 and mean a stream of their thread's.
  static cudaStream_t stream_of(api::Function function, cudaStream_t stream) noexcept {
    const bool is_own = stream == nullptr && api::name_of(function).symbol.ends_with("_ptsz");
    return is_own ? cudaStreamPerThread : stream;
  }

  device::OperationTimer timer_;
};

}  // namespace traceagent::door
