#pragma once

namespace traceagent::process {

// Registers the exit hooks: exit and return from main, quick_exit. (_exit is wrapped in exit.cpp.)
// Says so where that is refused.
void watch_exit() noexcept;

// Of an end that is under way: its status is not 0, as far as libc tells it (not by quick_exit).
bool ends_with_failure() noexcept;
// By finish_before_death().
bool ends_by_signal() noexcept;

// The same work in a signal handler: the drain thread's, waited for at most exit.timeout. A line of
// what came too late takes some KiB of its stack.
void finish_before_death(bool may_speak) noexcept;

// atexit() for a handler that takes its time. Registers it twice: a thread that comes to exit while
// another one is in the first copy must find the second one, or the C library would let it go past,
// end the process and free the list of handlers under the other.
bool watch_exit_by(void (*handler)()) noexcept;

// For the life of such a handler: other threads that end the process wait meanwhile.
class HandlerAtExit {
 public:
  explicit HandlerAtExit(void (*handler)()) noexcept;
  ~HandlerAtExit();
  HandlerAtExit(const HandlerAtExit&) = delete;
  HandlerAtExit& operator=(const HandlerAtExit&) = delete;

 private:
  bool is_first_ = false;
};

// Every wrapper passes straight through from now on.
void switch_off() noexcept;
// Before any call was made: nothing will ever start.
void stay_off() noexcept;

}  // namespace traceagent::process
