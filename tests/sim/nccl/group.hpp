#pragma once

#include <nccl.h>

#include <functional>
#include <vector>

#include "tests/sim/engine/meeting.hpp"
#include "tests/sim/engine/stream.hpp"
#include "tests/sim/nccl/comm.hpp"

namespace simgpu::nccl {

/// One operation that a program asked for.
struct Task {
  CommPtr comm;
  Stream* stream = nullptr;
  Label label;
  enum class Kind { collective, send, receive } kind = Kind::collective;
  std::uint64_t call_number = 0;
  std::uint64_t type_bytes = 0;
  // For the profiler plugin: its mask when the program called, and its handle of the call.
  int mask = 0;
  void* call_handle = nullptr;
};

/// Whether the thread is between ncclGroupStart and ncclGroupEnd.
bool in_group();
void start_group();
ncclResult_t end_group(bool launch);

/// Launches the task, or keeps it until the group ends. A communicator that does not block has a
/// thread of NCCL's launch it: then, mostly, ncclInProgress.
ncclResult_t submit(Task task);
/// Waits until the communicator is established, or leaves that to the end of the group.
ncclResult_t establish(const CommPtr& comm);
/// Notes the first error of a group, which ncclGroupEnd returns.
ncclResult_t fail(ncclResult_t error);

}  // namespace simgpu::nccl
