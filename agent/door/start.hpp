#pragma once
// What the doors need of the process, and what the process does with the doors. The doors may not
// include the process: these few pointers are the joint.

#include "agent/step/tracker.hpp"

namespace traceagent::door {

// Starts the agent in this process; called by the first hooked call, whatever thread makes it and
// even before the library's constructor. Defined in agent/process. Returns with the modes set.
void start_process() noexcept;

// The same where the driver itself names the process to us, in cuInit: no call of a device may come
// through a door, so what the device does is recorded from now on. Returns without waiting for
// that. `users_problem`: what is to be said of the user's own tool; empty: nothing.
void start_in_injection(const char* users_problem) noexcept;

// The tracker that the doors report to; null while there is none. Replaced only while no other
// thread records (start, forked child).
[[gnu::visibility("hidden")]] extern constinit std::atomic<step::Tracker*> tracker;
void report_to(step::Tracker* tracker) noexcept;

// Called by the thread that made the process's first recorded call of a device, once that has
// returned; null when it is past, or when nobody waits for it.
[[gnu::visibility("hidden")]] extern constinit std::atomic<void (*)() noexcept>
    on_first_device_call;

// Which of CUDA's doors the options leave open: the modes are those of a class of calls, whichever
// of the two libraries it comes from.
[[gnu::visibility("hidden")]] extern constinit std::atomic<bool> cudart_is_open;
[[gnu::visibility("hidden")]] extern constinit std::atomic<bool> driver_is_open;
void open_cuda_doors(bool cudart, bool driver) noexcept;

}  // namespace traceagent::door
