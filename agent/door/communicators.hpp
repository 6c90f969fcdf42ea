#pragma once
// What is known of the job's communicators: identity equal on all their ranks, sequence numbers.

#include <atomic>
#include <cstdint>
#include <optional>

#include "agent/api/nccl_types.hpp"
#include "agent/event/record.hpp"

namespace traceagent::door {

struct CommunicatorState {
  std::atomic<const void*> handle;
  std::atomic<std::uint64_t> hash;  // 0: not known; made where we could not see it
  std::atomic<std::int32_t> size;   // 0: not known yet (a split in a group is made later)
  std::atomic<std::int32_t> rank;
  std::uint32_t slot;  // index in the ring's table, plus 1; 0: the table was full
  std::atomic<std::uint64_t> collectives;
  std::atomic<std::uint32_t> children;  // splits and shrinks: part of the children's identity
  std::atomic<std::atomic<std::uint32_t>*> peers;  // sent to, received from, by rank
};

// The state of a live communicator, made at first sight. nullptr: more than we can follow.
CommunicatorState* communicator_of(ncclComm_t comm) noexcept;
CommunicatorState* add_communicator(ncclComm_t comm, std::uint64_t hash, int size,
                                    int rank) noexcept;
void remove_communicator(ncclComm_t comm) noexcept;
// Around the call that ends a communicator: another thread may be given the same handle for a new
// one before that call has returned here. nullptr: it was not known.
CommunicatorState* take_out_communicator(ncclComm_t comm) noexcept;
void forget_communicator(CommunicatorState& taken_out) noexcept;
void put_back_communicator(CommunicatorState& taken_out, ncclComm_t comm) noexcept;
// Asks NCCL for size, rank and device where they are not known yet.
void complete(CommunicatorState& state) noexcept;

// The number of a send or receive among those with the same peer and direction, from 0, so that the
// n-th send meets the n-th receive.
std::uint64_t next_of_peer(CommunicatorState& state, event::Collective kind, int peer) noexcept;
void take_back_sequence(CommunicatorState& state, event::Collective kind, int peer) noexcept;

// Their numbers are not those of other ranks any more: all that live get event::sequence_lost.
void lose_sequences() noexcept;

// How often these ranks (`excluded`, a hash of them) were left out of this communicator before;
// none where that is more than is kept.
std::optional<std::uint32_t> count_shrink(const CommunicatorState& parent,
                                          std::uint64_t excluded) noexcept;

// Of no communicator: its handle is no address that NCCL gives, nor null.
[[gnu::visibility("hidden")]] extern constinit CommunicatorState no_communicator;

// The communicator of this thread's last collective, nearly always that of the next one too; none
// while the thread is in a call. Entries are never freed: one that has gone is known by its handle.
[[gnu::visibility("hidden")]] extern constinit thread_local CommunicatorState* latest_communicator
    __attribute__((tls_model("initial-exec")));

// Without a locked instruction, which would cost more than the rest of an idle call: NCCL allows
// one thread at a time in a communicator, and the job orders them.
template <class Count>
Count count_up(std::atomic<Count>& count) noexcept {
  const Count before = count.load(std::memory_order_relaxed);
  count.store(before + 1, std::memory_order_relaxed);
  return before;
}

// The same, or the number of a collective among all of its communicator. In line: what describes
// the collective then stays in registers.
[[gnu::always_inline]] inline std::uint64_t next_sequence(CommunicatorState& state,
                                                          event::Collective kind,
                                                          int peer) noexcept {
  return event::is_point_to_point(kind) ? next_of_peer(state, kind, peer)
                                        : count_up(state.collectives);
}

inline std::size_t peer_counter_index(event::Collective kind, int peer) noexcept {
  return static_cast<std::size_t>(peer) * 2 + (kind == event::Collective::send ? 0 : 1);
}

// next_sequence() of an idle call: false where something has to be made or looked up first.
inline bool count_sequence(CommunicatorState& state, event::Collective kind, int peer) noexcept {
  if (!event::is_point_to_point(kind)) {
    count_up(state.collectives);
    return true;
  }
  auto* counters = state.peers.load(std::memory_order_acquire);
  if (counters == nullptr || peer < 0 || peer >= state.size.load(std::memory_order_relaxed)) {
    return false;
  }
  count_up(counters[peer_counter_index(kind, peer)]);
  return true;
}

// A new ring: every communicator that lives is written into its table.
void rewrite_communicators() noexcept;

}  // namespace traceagent::door
