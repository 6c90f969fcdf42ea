#pragma once
// What each cause that a file names means to its reader, and what to do about it.

#include <string_view>

namespace traceagent::tools {

struct Remedy {
  std::string_view cause;
  const char* meaning;
  const char* remedy;
};

// Of "dropped": ring::drop_cause_names.
inline constexpr Remedy drops[] = {
    {"ring_full", "events found no room in the ring",
     "raise ring.size (and enlarge /dev/shm where the agent said that less was granted), or record "
     "fewer steps"},
    {"overwritten", "events were overwritten, as ring.full says", "raise ring.size"},
    {"during_start", "calls came while another thread started the agent", "begin with a warm-up"},
    {"names_full", "names, or launch shapes of kernels (grid, block, registers), found no room",
     "raise ring.size (but of kernels no more than 16 MiB of names, or a million registrations, "
     "are "
     "kept)"},
    {"ranges_too_deep", "NVTX ranges were nested too deeply", "close ranges"},
    {"range_unmatched", "NVTX ranges ended of which no begin was seen",
     "begin them after the first CUDA or NCCL call"},
    {"communicators_full", "communicators found no room", "destroy those not in use"},
    {"step_tokens_full", "step detection missed calls, no event is lost", "set step.mark"},
    {"device_ring_full", "device records found no room in the ring", "raise ring.size"},
    {"device_dropped", "CUPTI had no buffer for device records", "raise device.buffers"},
    {"device_untimed", "CUPTI could not tell when device work was done",
     "launch less at once between synchronisations: CUPTI's own room on the device was used up"},
    {"device_late", "device work had not been told when the file was written",
     "raise device.settle"},
    {"not_written", "events were in windows that could not be written, nor kept for later",
     "make room on the disk, or raise ring.size"},
    {"plan_ring_full", "NCCL's own records found no room in the ring", "raise ring.size"},
};

// Of "launches_without_work"; "no_work" (a copy of 0 bytes) lacks nothing.
inline constexpr Remedy lost_work[] = {
    {"before_recording", "came before CUPTI was on", "add steps to schedule.warmup"},
    {"after_recording", "came when CUPTI was off again", "add steps to schedule.warmup"},
    {"late", "had not ended when the file was written", "raise device.settle"},
    {"lost", "lost their record: see the losses", "raise device.buffers and ring.size"},
    {"perhaps_lost",
     "have no device record, perhaps among those that this process lost in other cycles",
     "raise ring.size and device.buffers"},
    {"wrong_call", "launched graphs whose work CUPTI ascribed to other calls",
     "use CUPTI of CUDA 13.1 Update 1 or later"},
    {"unknown", "have no device record and no known cause",
     "were they captured into a graph? Else report this as a bug"},
};

// Of "work_without_launch"; "launched_before_window" lacks nothing.
inline constexpr Remedy lost_launches[] = {
    {"call_lost", "lost the record of their call: see the losses", "raise ring.size"},
    {"wrong_call", "of graphs were ascribed by CUPTI to calls that launch none",
     "use CUPTI of CUDA 13.1 Update 1 or later"},
    {"unknown", "were launched by no call that was seen", "report this as a bug"},
};

// Of "nccl_kernels_without_call"; of those "in_graph" the call is at the capture.
inline constexpr Remedy lost_calls[] = {
    {"several_calls", "may carry out one of several calls",
     "set doors.nccl_plugin to true, with NCCL 2.23 or newer"},
    {"no_call", "carry out no call that was seen", "set doors.nccl and doors.nccl_plugin to true"},
    {"call_lost", "lost the record of their call: see the losses",
     "raise ring.size and device.buffers"},
};

// Of both, in the file of a process that died: nothing can be set to have it otherwise.
inline constexpr Remedy lost_with_process[] = {
    {"device_late", "device work was in CUPTI's buffers when the process died", ""},
    {"late", "were not told of when the process died", ""},
};

// Of "went_round", what process::WayRound names.
inline constexpr Remedy ways_round[] = {
    {"other_copy", "is a second copy of a library that is wrapped already", "let all use one copy"},
    {"namespace", "was loaded by dlmopen", "load it with dlopen"},
    {"unknown_major", "is newer than this agent knows", "use a newer TraceAgent"},
};

}  // namespace traceagent::tools
