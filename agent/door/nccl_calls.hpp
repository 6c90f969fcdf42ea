#pragma once
// What is recorded of an NCCL call's arguments: one small type per kind of call, as in calls.hpp.
// before() runs also when nothing is recorded: sequence numbers and communicators are counted from
// a communicator's birth.

#include <cstdint>
#include <optional>

#include "agent/api/nccl_types.hpp"
#include "agent/device/event_timing.hpp"
#include "agent/door/calls.hpp"
#include "agent/door/communicators.hpp"
#include "agent/door/widened.hpp"
#include "agent/event/hash.hpp"
#include "agent/event/record.hpp"
#include "agent/ring/writer.hpp"
#include "agent/step/state.hpp"

namespace traceagent::door {

using event::Collective;

inline constexpr int no_reduction = -1;

// In the record's eight bits: what the job has made (ncclRedOpCreatePreMulSum) has a number of 31
// bits, of which NCCL makes any.
constexpr std::uint8_t recorded_reduction(int reduction) noexcept {
  if (reduction >= 0 && reduction < ncclNumOps) return static_cast<std::uint8_t>(reduction);
  return reduction == no_reduction ? 255 : 254;
}

struct NcclCallBase : CallBase {
  static constexpr CallClass call_class = CallClass::communicator;
  static constexpr bool calls_another = false;
  void before(CommunicatorState&) noexcept {}
  // Also when nothing is recorded.
  void after(int) noexcept {}
  // All that before() does for an idle call; false where it takes more than counting.
  bool count_idle() noexcept { return false; }
  // The same, for a call that step detection knew beforehand; false where it did not.
  bool count_expected(step::Tracker&) noexcept { return false; }
  // What after() does where that was all.
  ncclResult_t after_idle(ncclResult_t result) noexcept { return result; }
  // Once the outermost call has returned: so that the next one can be counted the short way.
  // `latest`: the communicator of the collective before this call.
  void remember(CommunicatorState& latest) const noexcept { latest_communicator = &latest; }
  static bool accepted(int result) noexcept {
    return result == ncclSuccess || result == ncclInProgress;
  }
};

struct NcclOtherCall : NcclCallBase {};

struct CollectiveCall : NcclCallBase {
  static constexpr CallClass call_class = CallClass::collective;
  Collective kind;
  std::size_t count;
  int datatype, reduction, peer;
  ncclComm_t comm;
  cudaStream_t stream;
  bool in_place;
  CommunicatorState* state = nullptr;
  std::uint64_t sequence = event::no_sequence;

  CollectiveCall(Collective what, std::size_t elements, int type, int op, int root_or_peer,
                 ncclComm_t on, cudaStream_t in, bool same_buffer)
      : kind(what),
        count(elements),
        datatype(type),
        reduction(op),
        peer(root_or_peer),
        comm(on),
        stream(in),
        in_place(same_buffer) {}

  [[gnu::always_inline]] void before(CommunicatorState& latest) noexcept {
    if (latest.handle.load(std::memory_order_acquire) == comm) [[likely]] {
      state = &latest;
    } else {
      state = communicator_of(comm);
      if (state == nullptr) return;
    }
    if (state->size.load(std::memory_order_relaxed) == 0) [[unlikely]] {
      complete(*state);
    }
    sequence = next_sequence(*state, kind, peer);
  }

  void remember(CommunicatorState& latest) const noexcept {
    latest_communicator = state != nullptr ? state : &latest;
  }

  bool count_idle() noexcept {
    state = latest_communicator;
    if (state->handle.load(std::memory_order_relaxed) == comm) [[likely]] {
      return count_sequence(*state, kind, peer);
    }
    return false;
  }

  [[gnu::always_inline]] bool passes(step::Tracker& tracker) const noexcept {
    return tracker.passes_collective([&]() noexcept { return hashes(); });
  }

  // In line: the call's description would else be made in memory first. The first call of a stretch
  // goes the long way: it takes more registers than are free.
  [[gnu::always_inline]] bool count_expected(step::Tracker& tracker) noexcept {
    state = latest_communicator;
    if (state->handle.load(std::memory_order_relaxed) != comm) return false;
    step::Stride* stride = tracker.open_stride().of_collectives();
    if (stride == nullptr) return false;
    const auto [exact, shape] = hashes_on(state->hash.load(std::memory_order_relaxed));
    if (!stride->pass_within_stretch(stride->goes_by_shape() ? shape : exact)) return false;
    if (!count_sequence(*state, kind, peer)) [[unlikely]] {
      next_sequence(*state, kind, peer);
    }
    return true;
  }

  void after(int result) const noexcept {
    if (result != ncclSuccess) [[unlikely]] {
      take_back_unless_accepted(static_cast<ncclResult_t>(result), state, kind, peer);
    }
  }
  // Of this very communicator: what NCCL's place has may have made a collective of another one.
  [[gnu::always_inline]] ncclResult_t after_idle(ncclResult_t result) const noexcept {
    if (result == ncclSuccess) [[likely]] {
      return result;
    }
    return take_back_unless_accepted(result, state, kind, peer);
  }

  // Static, so that an idle call's arguments stay in registers; it returns the result, so that the
  // idle call ends with a jump to it and keeps nothing on its stack.
  [[gnu::noinline]] static ncclResult_t take_back_unless_accepted(ncclResult_t result,
                                                                  CommunicatorState* state,
                                                                  Collective kind,
                                                                  int peer) noexcept {
    if (!accepted(result) && state != nullptr) {
      // Refused: the ranks that were not refused do not count it either.
      take_back_sequence(*state, kind, peer);
    }
    return result;
  }

  // For step detection, which spreads the bits itself; equal on all ranks. Two products and no
  // more: this is most of what a call costs that detection knew beforehand. By numbers that fit
  // into an instruction: no register is free for them. Two calls on a communicator have one hash
  // only if their operations differ by a multiple of the second number, which is more than there
  // are.
  struct Hashes {
    std::uint64_t exact, shape;
  };
  Hashes hashes() const noexcept {
    return hashes_on(state != nullptr ? state->hash.load(std::memory_order_relaxed) : bits(comm));
  }
  [[gnu::always_inline]] Hashes hashes_on(std::uint64_t communicator) const noexcept {
    std::uint64_t operation =
        static_cast<std::uint64_t>(kind) << 8 | static_cast<std::uint8_t>(datatype);
    if (event::is_point_to_point(kind)) {
      operation |= std::uint64_t{static_cast<std::uint32_t>(peer)} << 16;
    }
    const std::uint64_t shape = communicator + operation * 0x5bd1e995;
    return {shape + count * 0x7feb352d, shape};
  }

  [[gnu::always_inline]] void observe(step::Tracker& tracker, std::uint64_t ticks) const noexcept {
    if ((tracker.interest() & step::interest_collectives) == 0) return;
    const auto [exact, shape] = hashes();
    if (event::is_point_to_point(kind)) return tracker.point_to_point(exact, shape, ticks);
    tracker.collective(exact, shape, ticks);
  }

  [[gnu::always_inline]] void fill(Record& record) const noexcept {
    record.layout = Layout::collective;
    record.detail = static_cast<std::uint32_t>(kind);
    record.extra = state != nullptr ? state->slot : 0;
    if (in_place) record.flags |= event::flag_in_place;
    if (ring::writer.nccl_group_depth != 0) record.flags |= event::flag_in_group;
    record.args[0] = count;
    record.args[1] = sequence;
    record.args[2] = static_cast<std::uint64_t>(datatype & 0xff) |
                     widened(recorded_reduction(reduction)) << 8 |
                     widened(static_cast<std::uint32_t>(peer)) << 32;
    record.args[3] = bits(stream);
  }
};

// ncclBcast, which calls ncclBroadcast, and what others than NVIDIA make of sends and receives:
// always the slow way, where the calls within are known to be within.
struct CollectiveInDisguise : CollectiveCall {
  static constexpr bool calls_another = true;
  using CollectiveCall::CollectiveCall;
};

// The streams that the thread's open group will launch on: ncclGroupEnd itself names none.
struct GroupStreams {
  static constexpr std::uint32_t most = 16;
  struct Entry {
    cudaStream_t stream;
    int device;
  };
  std::uint32_t count;
  Entry entries[most];

  void add(cudaStream_t stream, int device) noexcept {
    for (std::uint32_t i = 0; i < count; ++i) {
      if (entries[i].stream == stream && entries[i].device == device) return;
    }
    if (count == most) return device::count_untimed(device::Untimed::many_streams);
    entries[count++] = {stream, device};
  }
};
extern constinit thread_local GroupStreams group_streams __attribute__((tls_model("initial-exec")));

// Communicators that NCCL makes at the end of the thread's open group: until then the job's
// variable for each is null. More than these are found by their first collective, with an identity
// that is not known; so are those of communicators that do not block, which are made at a time of
// their own.
struct AwaitedCommunicators {
  static constexpr std::uint32_t most = 16;
  struct Entry {
    ncclComm_t* made;
    std::uint64_t hash;
  };
  std::uint32_t count;
  Entry entries[most];

  void add(ncclComm_t* made, std::uint64_t hash) noexcept {
    if (count < most) entries[count++] = {made, hash};
  }
  // The group has ended, and NCCL has written the variables.
  [[gnu::noinline]] void end(bool is_made) noexcept {
    for (std::uint32_t i = 0; i < count && is_made; ++i) {
      if (*entries[i].made != nullptr) add_communicator(*entries[i].made, entries[i].hash, 0, -1);
    }
    count = 0;
  }
};
extern constinit thread_local AwaitedCommunicators awaited_communicators
    __attribute__((tls_model("initial-exec")));

struct GroupCall : NcclCallBase {
  static constexpr CallClass call_class = CallClass::collective;  // idle when they are
  int delta;
  explicit GroupCall(int change) : delta(change) {}
  // One within a call of NCCL is not the job's: its other end may go the long way, which knows
  // that.
  bool count_idle() noexcept { return ring::writer.nccl_frame == 0; }
  bool count_expected(step::Tracker& tracker) noexcept {
    return count_idle() && tracker.expects_collectives();
  }
  ncclResult_t after_idle(ncclResult_t result) noexcept {
    after(result);
    return result;
  }
  void after(int result) noexcept {
    std::uint32_t& depth = ring::writer.nccl_group_depth;
    if (delta > 0) ++depth;
    if (delta < 0 && depth > 0) --depth;
    if (depth != 0) return;
    group_streams.count = 0;
    if (awaited_communicators.count != 0) [[unlikely]] {
      awaited_communicators.end(result == ncclSuccess);
    }
  }
};

// What stands in the group was estimated and is dropped: it was counted here and, where others did
// not estimate, not on other ranks. Which communicators it was about is not kept of a group.
struct GroupSimulateCall : GroupCall {
  GroupSimulateCall() : GroupCall(-1) {}
  ncclResult_t after_idle(ncclResult_t result) noexcept {
    after(result);
    return result;
  }
  void after(int result) noexcept {
    GroupCall::after(result);
    if (accepted(result) && ring::writer.nccl_group_depth == 0) lose_sequences();
  }
};

struct CommCall : NcclCallBase {
  ncclComm_t comm;
  explicit CommCall(ncclComm_t of) : comm(of) {}
  void fill(Record& record) const noexcept {
    const CommunicatorState* state = communicator_of(comm);
    record.layout = Layout::communicator;
    record.extra = state != nullptr ? state->slot : 0;
  }
};

struct CommEndCall : CommCall {
  CommunicatorState* state = nullptr;
  using CommCall::CommCall;
  void before(CommunicatorState&) noexcept { state = take_out_communicator(comm); }
  void after(int result) noexcept {
    if (state == nullptr) return;
    accepted(result) ? forget_communicator(*state) : put_back_communicator(*state, comm);
  }
  void fill(Record& record) const noexcept {
    record.layout = Layout::communicator;
    record.extra = state != nullptr ? state->slot : 0;
  }
};

// A communicator that is being made: its place in the ring's table is known only after the call.
struct CommMakingCall : NcclCallBase {
  CommunicatorState* made = nullptr;
  // A child of one whose identity is not known has none either. Null where the rank gets no child,
  // and where it is made later.
  void make_child(ncclComm_t* comm, std::uint64_t parent_hash, std::uint64_t identity,
                  int result) noexcept {
    const std::uint64_t hash = parent_hash != 0 ? identity : 0;
    if (*comm != nullptr) {
      made = add_communicator(*comm, hash, 0, -1);
    } else if (result == ncclSuccess && ring::writer.nccl_group_depth != 0) {
      awaited_communicators.add(comm, hash);
    }
  }
  void fill(Record& record) const noexcept { record.layout = Layout::communicator; }
  void finish(Record& record, int) const noexcept {
    record.extra = made != nullptr ? made->slot : 0;
  }
};

struct CommInitCall : CommMakingCall {
  ncclComm_t* comm;
  int size, rank;
  const ncclUniqueId* id;
  CommInitCall(ncclComm_t* result, int ranks, int own_rank, const ncclUniqueId* unique_id)
      : comm(result), size(ranks), rank(own_rank), id(unique_id) {}
  void after(int result) noexcept {
    if (!accepted(result) || comm == nullptr || id == nullptr) return;
    made = add_communicator(*comm, event::hash_bytes(id, sizeof *id), size, rank);
  }
};

struct CommInitAllCall : CommMakingCall {
  ncclComm_t* comms;
  int size;
  CommInitAllCall(ncclComm_t* results, int devices, const int*) : comms(results), size(devices) {}
  void after(int result) noexcept {
    if (!accepted(result) || comms == nullptr) return;
    // One process has all the ranks: any number that no other communicator has will do.
    const std::uint64_t hash = event::combine(event::clock_ns(CLOCK_REALTIME), bits(comms[0]));
    for (int i = 0; i < size; ++i) made = add_communicator(comms[i], hash, size, i);
  }
};

struct CommSplitCall : CommMakingCall {
  ncclComm_t parent;
  int color;
  ncclComm_t* comm;
  CommSplitCall(ncclComm_t of, int with_color, ncclComm_t* result)
      : parent(of), color(with_color), comm(result) {}
  void after(int result) noexcept {
    CommunicatorState* state = communicator_of(parent);
    if (!accepted(result) || state == nullptr) return;
    // Every rank of the parent takes part in every split, also those that get no child.
    const std::uint64_t number = state->children.fetch_add(1, std::memory_order_relaxed);
    if (comm == nullptr || color == NCCL_SPLIT_NOCOLOR) return;
    const std::uint64_t parent_hash = state->hash.load(std::memory_order_relaxed);
    const std::uint64_t of_split = event::combine(parent_hash, number);
    make_child(comm, parent_hash, event::combine(of_split, static_cast<std::uint32_t>(color)),
               result);
  }
};

struct CommShrinkCall : CommMakingCall {
  ncclComm_t parent;
  const int* excluded;
  int excluded_count;
  ncclComm_t* comm;
  CommShrinkCall(ncclComm_t of, const int* ranks, int count, ncclComm_t* result)
      : parent(of), excluded(ranks), excluded_count(count), comm(result) {}
  void after(int result) noexcept {
    CommunicatorState* state = communicator_of(parent);
    if (!accepted(result) || state == nullptr || comm == nullptr) return;
    // The excluded ranks do not call: only who is left decides the identity, in any order.
    std::uint64_t gone = 0;
    for (int i = 0; i < excluded_count && excluded != nullptr; ++i) {
      gone += event::mix(static_cast<std::uint32_t>(excluded[i]));
    }
    // The same ones may be left out again. Those left have been there each time; who counts all
    // shrinks of the parent would not be equal to one that was itself left out of some.
    const std::optional<std::uint32_t> number = count_shrink(*state, gone);
    const std::uint64_t parent_hash = number ? state->hash.load(std::memory_order_relaxed) : 0;
    const std::uint64_t of_shrink = event::combine(gone, 0x5147 + number.value_or(0));
    make_child(comm, parent_hash, event::combine(parent_hash, of_shrink), result);
  }
};

struct NcclAllocationCall : NcclCallBase {
  void** pointer;
  std::size_t bytes;
  NcclAllocationCall(void** result, std::size_t size) : pointer(result), bytes(size) {}
  void fill(Record& record) const noexcept {
    record.layout = Layout::allocation;
    record.args[2] = bytes;
  }
  void finish(Record& record, int result) const noexcept {
    if (result == ncclSuccess && pointer != nullptr) record.args[0] = bits(*pointer);
  }
};

}  // namespace traceagent::door
