#pragma once

#include <vector>

#include "tests/sim/cupti/entry.hpp"

/// Records of device work.
namespace simgpu::cupti {

/// The kind that a record of this work has when these kinds are asked about; INVALID for work that
/// CUPTI does not show (host functions).
CUpti_ActivityKind kind_of(const activity::DeviceWork& work);

/// kind: the kind to write, of kernels KERNEL or CONCURRENT_KERNEL. Work that is not over yet has
/// an end of 0, as in a forced flush.
Entry work_entry(const activity::DeviceWorkPtr& work, CUpti_ActivityKind kind, bool over);

/// As CUPTI has it once its buffers on the device are used up: both times 0, or an end before the
/// start.
void take_times(Entry& entry, bool all);

/// One record for a whole graph launch.
Entry graph_entry(std::vector<activity::DeviceWorkPtr> works, bool over);

}  // namespace simgpu::cupti
