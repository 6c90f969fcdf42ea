#pragma once
// What a step detector tells, and calls of a thread that it takes for another.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "agent/step/detector.hpp"
#include "agent/step/stride.hpp"
#include "agent/step/thread_number.hpp"

namespace traceagent::step::test {

/// All that a listener is told, in order.
struct Told final : DetectorListener {
  struct Event {
    char what;  ///< begin, end, retracted, passed
    std::uint64_t step, ticks;
    bool operator==(const Event&) const = default;
  };
  void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept override {
    events.push_back({'b', step, ticks});
  }
  void on_step_end(std::uint64_t step, std::uint64_t ticks) noexcept override {
    events.push_back({'e', step, ticks});
  }
  void on_step_retracted(std::uint64_t step) noexcept override { events.push_back({'r', step, 0}); }
  std::uint64_t steps_to_pass() const noexcept override { return may_pass; }
  void on_steps_passed(std::uint64_t latest) noexcept override {
    events.push_back({'p', latest, 0});
  }
  void on_locked(const LockReport&) noexcept override { ++locks; }

  std::vector<Event> events;
  std::uint64_t may_pass = 0;
  int locks = 0;
};

/// Of what follows, in this thread: as if another made it.
class InThread {
 public:
  explicit InThread(std::uint32_t number)
      : own_(std::exchange(this_thread_number, number)),
        own_stride_(std::exchange(this_threads_stride, stride_of(number))) {}
  ~InThread() {
    stride_of(std::exchange(this_thread_number, own_)) =
        std::exchange(this_threads_stride, own_stride_);
  }
  InThread(const InThread&) = delete;
  InThread& operator=(const InThread&) = delete;

 private:
  /// Until it is made again.
  static Stride*& stride_of(std::uint32_t number) {
    static std::map<std::uint32_t, Stride*> strides;
    return strides[number];
  }

  const std::uint32_t own_;
  Stride* const own_stride_;
};

}  // namespace traceagent::step::test
