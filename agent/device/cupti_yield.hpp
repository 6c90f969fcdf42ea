#pragma once
// The job's own use of CUPTI (torch.profiler, a tool of the user) comes first: what the door that
// sees its calls asks of us. From any thread of the job; nothing here throws.

#include <cstdint>

namespace traceagent::device {

// Call before the job's cuptiSubscribe*, cuptiActivityRegisterCallbacks or cuptiActivityEnable*
// goes on to the library. If we record, all is flushed, disabled and unsubscribed before it returns
// (at most five seconds later, where CUPTI was just being switched on). From then on CUPTI is left
// alone until job_is_done().
void yield_to_job() noexcept;

// After the job's cuptiUnsubscribe or cuptiFinalize: the next cycle of the schedule may try again.
void job_is_done() noexcept;

// The buffer callbacks that the job registered last (CUpti_BuffersCallbackRequestFunc and
// …CompleteFunc): registered again when our window is over, because PyTorch's profiler registers
// its own once in the life of a process. nullptr, nullptr: none.
void remember_job_callbacks(void* request, void* complete) noexcept;

// Where we have switched CUPTI on, and so found CUDA initialised: in this very process, in one that
// it was forked of, or nowhere.
enum class CuptiUse : std::uint8_t { nowhere, here, in_parent };
CuptiUse use_of_cupti() noexcept;

}  // namespace traceagent::device
