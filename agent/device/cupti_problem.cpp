#include "agent/device/cupti_problem.hpp"

#include "agent/event/loader_lock.hpp"

namespace traceagent::device {
namespace {

std::string text_of(CuptiResult result, const CuptiLibrary& library) {
  const char* text = nullptr;
  if (library.functions.get_result_string != nullptr &&
      library.functions.get_result_string(result, &text) == cupti_result::success &&
      text != nullptr) {
    return text;
  }
  return "CUPTI error " + std::to_string(result);
}

}  // namespace

CuptiState state_of(CuptiResult result) noexcept {
  switch (result) {
    case cupti_result::success:
      return CuptiState::recording;
    case cupti_result::multiple_subscribers:
    case cupti_result::max_limit_reached:
      return CuptiState::taken;
    case cupti_result::insufficient_privileges:
    case cupti_result::virtualised_insufficient_privileges:
      return CuptiState::refused;
    case cupti_result::other_clock:
      return CuptiState::other_clock;
    default:
      return CuptiState::failed;
  }
}

std::string problem_line(CuptiState state, CuptiResult result, const CuptiLibrary& library) {
  const std::string what = "no times of kernels and copies: ";
  switch (state) {
    case CuptiState::absent:
      if (event::is_loader_stuck()) return what + event::stuck_loader_in_words;
      return what +
             "libcupti.so was not found: add CUPTI's folder (extras/CUPTI/lib64 of the toolkit, "
             "nvidia/cuda_cupti/lib of the Python packages) to LD_LIBRARY_PATH";
    case CuptiState::taken:
      return what +
             "CUPTI is in use by another profiler (torch.profiler, nsys, a debugger): we try again "
             "in the next cycle of the schedule; let the other one end (PyTorch's profiler keeps "
             "CUPTI until the process ends)";
    case CuptiState::unsafe:
      return what + library.path +
             " is CUPTI of CUDA 13.0, which may hang or crash the job: use that of 13.0 Update 1 "
             "or "
             "later, or set device.unsafe_cupti to true";
    case CuptiState::other_clock:
      return what +
             "a profiler of the job has CUPTI take its times from a clock of its own until the "
             "process ends, as PyTorch's does: leave that profiler out of runs that are traced";
    case CuptiState::refused:
      return what + text_of(result, library) +
             ": load the driver's module with NVreg_RestrictProfilingToAdminUsers=0 or give the "
             "job CAP_SYS_ADMIN";
    default:
      break;
  }
  // It is ours: nothing was asked of CUPTI.
  if (result == cupti_result::success) {
    return what + "no memory for device.buffers: lower it, or raise the job's limit (ulimit -v)";
  }
  // A CUPTI that is newer than the driver says the one or the other.
  if (result == cupti_result::not_compatible || result == cupti_result::not_initialised) {
    return what + library.path +
           " does not fit the driver: update the driver or put an older "
           "CUPTI first in LD_LIBRARY_PATH";
  }
  return what + library.path + ": " + text_of(result, library) +
         ": set doors.cupti to false to be quiet about it";
}

}  // namespace traceagent::device
