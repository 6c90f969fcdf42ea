#pragma once
// The job's own calls of CUPTI (torch.profiler and the like): before they reach CUPTI, ours yields.
// CUPTI has room for one: what the job asks of it, the job gets in full.

namespace traceagent::door {

// For the dlsym door. True where the name is one of those that have a wrapper.
bool is_cupti_name(const char* symbol) noexcept;
// The wrapper for CUPTI's function at `real`; nullptr where it belongs to a CUPTI that we do not
// know (a later major): the caller then gets `real`.
void* cupti_wrapper_for(const char* symbol, void* real) noexcept;

}  // namespace traceagent::door
