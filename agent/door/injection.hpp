#pragma once
// CUDA_INJECTION64_PATH: the driver opens the library named there in cuInit and calls its
// InitializeInjection.

namespace traceagent::door {

// Names us (`own_path`) to the driver. A library of the user's own is remembered in a variable that
// children inherit as they inherit ours, and called by us as the driver would have. One that is not
// there keeps its place, so that the driver says of it what it would have said.
void offer_injection(const char* own_path) noexcept;

}  // namespace traceagent::door
