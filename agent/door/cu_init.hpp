#pragma once
// cuInit once CUPTI has been on. The driver does not answer it any more: a later call can wait for
// ever for a lock of the driver's that nobody holds (driver 580.159 with CUPTI 130001: CuPy, whose
// NVRTC calls it). Of a CUDA that is initialised it asks nothing, so what it would have said is
// known. Until then it goes its way.

namespace traceagent::door {

// What a look-up gives instead of the driver's function at `real`. Null: that itself, because more
// libraries have a cuInit than there are guards.
void* guard_of_cu_init(void* real) noexcept;

// Whether a look-up is to give a guard though its door is shut: CUPTI has been on all the same.
bool must_guard_cu_init() noexcept;

}  // namespace traceagent::door
