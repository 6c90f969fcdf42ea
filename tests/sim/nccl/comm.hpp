#pragma once

#include <nccl.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>

#include "tests/sim/engine/call.hpp"
#include "tests/sim/engine/meeting.hpp"
#include "tests/sim/nccl/functions.hpp"
#include "tests/sim/nccl/launch_thread.hpp"

namespace simgpu::nccl {

/// A communicator of one rank. It comes into being step by step, because several of them may be
/// made by one thread inside a group: try_establish() does the next step and never blocks.
struct Comm {
  enum class State { splitting, joining, ready };

  std::uint64_t hash = 0;
  int rank = 0;
  int size = 0;
  int device = 0;
  bool blocking = true;
  State state = State::joining;
  std::shared_ptr<Meeting> meeting;
  std::atomic<std::uint64_t> collectives{0};  // calls, in the order in which the program made them
  std::atomic<std::uint64_t> splits{0};
  std::array<std::atomic<std::uint64_t>, Number::count> sequences{};  // as NCCL counts: by function
  bool has_plugin = false;
  void* plugin_context = nullptr;
  std::mutex mutex;
  std::set<int> operators;  // ncclRedOpCreatePreMulSum
  int next_operator = ncclNumOps;

  // While splitting: the parent, what was said in which round, where to put the result.
  std::shared_ptr<Comm> parent;
  std::uint64_t round = 0;
  int color = 0;
  ncclComm_t* result = nullptr;

  // Those that do not block and are still being made.
  std::vector<std::shared_ptr<Comm>> children;  // under `mutex`

  // Of a communicator that does not block: its latest group, until it is found to be launched.
  std::shared_ptr<LaunchThread> launching;  // under `mutex`

  bool is_launching();
  bool try_establish();
  bool is_making_children();
  ncclResult_t establish();
  /// Joins the meeting place; an error code when it cannot.
  ncclResult_t join();

 private:
  void take_place_in_split();
};

using CommPtr = std::shared_ptr<Comm>;

CommPtr add_comm(CommPtr comm);
/// nullptr for a handle that is no communicator. Notes the communicator in the call's record.
CommPtr comm_of(Call& call, ncclComm_t handle);
void remove_comm(const CommPtr& comm);
ncclComm_t handle_of(const CommPtr& comm);
void note(Call& call, const Comm& comm);

}  // namespace simgpu::nccl
