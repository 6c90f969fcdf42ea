#pragma once

namespace traceagent::process {

// Registers the exit hooks: exit and return from main, quick_exit. (_exit is wrapped in exit.cpp.)
// Says so where that is refused.
void watch_exit() noexcept;

// The same work in a signal handler: the drain thread's, waited for at most exit.timeout.
void finish_before_death() noexcept;

// By a handler of ours that runs at exit before those of watch_exit(): this thread ends the
// process.
void begin_end() noexcept;

// Every wrapper passes straight through from now on.
void switch_off() noexcept;
// Before any call was made: nothing will ever start.
void stay_off() noexcept;

}  // namespace traceagent::process
