#pragma once
// NCCL operations timed by CUDA events: one outside of a group by itself; those of a group run when
// the outermost ncclGroupEnd launches them, so that one is timed, once on each stream of the group.

#include <array>
#include <atomic>
#include <cerrno>
#include <concepts>
#include <cstdint>
#include <optional>

#include "agent/device/event_timing.hpp"
#include "agent/door/event_timing_binding.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/nccl_calls.hpp"
#include "agent/door/targets.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {

// NCCL's own answer, -1 where it has none. Not of one of several copies: the communicator may be
// another's. NCCL tells NVTX of the call, which is not the job's.
inline int device_of_communicator(api::Function function, ncclComm_t comm) noexcept {
  using Ask = ncclResult_t (*)(ncclComm_t, int*);
  static constinit std::atomic<Ask> known{nullptr};
  const int saved_errno = errno;
  void* const real = known_target(Library::nccl, function);
  if (real == nullptr) return -1;
  Ask ask = known.load(std::memory_order_acquire);
  if (ask == nullptr) {
    ask = reinterpret_cast<Ask>(symbol_beside(real, "ncclCommCuDevice"));
    known.store(ask, std::memory_order_release);
  }
  int device = -1;
  ++ring::writer.nested_in_start;
  const bool is_told = ask != nullptr && ask(comm, &device) == ncclSuccess;
  --ring::writer.nested_in_start;
  errno = saved_errno;
  return is_told ? device : -1;
}

// NCCL makes its own device the current one, whose default stream it then means.
inline int device_of_work(api::Function function, ncclComm_t comm, cudaStream_t stream) noexcept {
  return device::is_default_stream(stream) ? device_of_communicator(function, comm) : -1;
}

template <class Call>
class NcclTimer {
 public:
  NcclTimer(api::Function, const Call&, const Record*) noexcept {}
  void end(const Call& call, ncclResult_t) noexcept {
    if constexpr (requires { call.made; }) {
      if (call.made != nullptr) note_device_of_communicator();
    }
  }
};

template <std::derived_from<CollectiveCall> Call>
class NcclTimer<Call> {
 public:
  [[gnu::always_inline]] NcclTimer(api::Function function, const CollectiveCall& call,
                                   const Record* record) noexcept {
    if (record == nullptr || !device::is_timing_by_events()) [[likely]] {
      return;
    }
    begin(function, *record, call.comm, call.stream);
  }
  // ncclInProgress: a thread of NCCL's launches it later, when an end event would lie before it.
  void end(const CollectiveCall&, ncclResult_t result) noexcept {
    timer_.end(result == ncclSuccess);
  }

 private:
  // Given what it needs by value: by reference the call's description would be made in memory, for
  // every recorded call.
  [[gnu::noinline]] void begin(api::Function function, const Record& record, ncclComm_t comm,
                               cudaStream_t stream) noexcept {
    const int device = device_of_work(function, comm, stream);
    if (ring::writer.nccl_group_depth == 0) return timer_.begin(record, stream, device);
    group_streams.add(stream, device >= 0 ? device : device::device_of_stream(stream));
  }

  device::OperationTimer timer_;
};

template <>
class NcclTimer<GroupCall> {
 public:
  NcclTimer(api::Function function, const GroupCall&, const Record* record) noexcept {
    const bool launches =
        function == api::Function::ncclGroupEnd && ring::writer.nccl_group_depth == 1;
    if (!launches || record == nullptr || !device::is_timing_by_events()) return;
    count_ = group_streams.count;
    timers_.emplace();
    for (std::uint32_t i = 0; i < count_; ++i) {
      const GroupStreams::Entry& entry = group_streams.entries[i];
      (*timers_)[i].begin(*record, entry.stream, entry.device);
    }
  }
  void end(const GroupCall&, ncclResult_t result) noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) (*timers_)[i].end(result == ncclSuccess);
  }

 private:
  std::uint32_t count_ = 0;
  std::optional<std::array<device::OperationTimer, GroupStreams::most>> timers_;
};

}  // namespace traceagent::door
