#pragma once
// Which calls of the job each NCCL kernel of a window carries out, whatever thread launched it.

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "agent/drain/async_calls.hpp"
#include "agent/drain/collective_plans.hpp"
#include "agent/drain/coverage.hpp"
#include "agent/drain/demangled_names.hpp"
#include "agent/drain/launch_match.hpp"
#include "agent/drain/launch_plans.hpp"

namespace traceagent::drain {

struct NcclKernel {
  std::uint32_t slice;                      // whose work it is
  std::uint32_t launch;                     // in the window
  std::uint32_t name;                       // offset in the ring's names
  std::vector<const event::Record*> calls;  // Layout::collective; none: see without_call()
  bool by_own_thread = false;               // NCCL's, not that of the calls
};

class NcclKernels {
 public:
  explicit NcclKernels(const ring::Ring& ring) : ring_(ring), names_(ring) {}

  // A kernel of that name, in order of slices; kept if it is one of NCCL's.
  void note(std::uint32_t slice, std::uint32_t launch, std::uint32_t name);
  // Finds their calls. `plans` may be without any.
  void find_calls(const ring::Window& window, const event::TickConverter& clock,
                  const std::vector<ThreadEvents>& threads, const CollectivePlans& plans,
                  const std::vector<Launch>& launches);

  const std::vector<NcclKernel>& all() const noexcept { return kernels_; }
  // nullptr for a slice that is no kernel of NCCL's.
  const NcclKernel* of_slice(std::uint32_t slice) const noexcept;
  // Kernels without calls, by cause.
  const Counts& without_call() const noexcept { return without_call_; }

 private:
  bool find_by_launch(NcclKernel& kernel, const std::vector<ThreadEvents>& threads,
                      const LaunchPlans& plans, const Launch& launch);
  std::vector<const event::Record*> calls_of_group(const NcclKernel& kernel,
                                                   const ThreadEvents& thread,
                                                   const LaunchPlans& plans, const Launch& launch);
  bool leave_out(const char* cause) {
    ++without_call_[cause];
    return true;
  }
  void find_by_order(const std::vector<NcclKernel*>& kernels, const event::TickConverter& clock,
                     const std::vector<ThreadEvents>& threads, const std::vector<Launch>& launches);

  const ring::Ring ring_;
  DemangledNames names_;
  std::vector<NcclKernel> kernels_;
  std::unordered_map<const event::Record*, std::uint32_t> kernels_around_;  // in an NCCL call
  Counts without_call_;
  const char* part_missing_ = cause_group_before_window;  // or its record was lost
};

}  // namespace traceagent::drain
