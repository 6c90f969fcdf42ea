#pragma once
// Finds what timing by CUDA events needs of the job's own CUDA.

#include "agent/device/event_timing_api.hpp"

namespace traceagent::door {

// Of the newest libcudart that is loaded: NCCL has a hidden one of its own, which nobody can ask.
// nullptr: none is loaded, or it lacks a function. Takes the loader's lock; not in a job's thread.
const device::EventApi* bind_event_api() noexcept;

// A communicator has been made on the current device: operations there will be timed.
void note_device_of_communicator() noexcept;

}  // namespace traceagent::door
