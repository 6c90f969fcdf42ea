#include "agent/door/communicators.hpp"

#include <sys/mman.h>

#include <array>
#include <cerrno>

#include "agent/door/communicator_slots.hpp"
#include "agent/door/loaded_objects.hpp"
#include "agent/door/targets.hpp"
#include "agent/event/hash.hpp"
#include "agent/ring/writer.hpp"

namespace traceagent::door {

constinit CommunicatorState no_communicator{&no_communicator, 0, 0, -1, 0, 0, 0, nullptr};
constinit thread_local CommunicatorState* latest_communicator = &no_communicator;

namespace {

constexpr std::size_t table_size = 4096;
constexpr std::size_t longest_probe = 64;
constinit std::array<CommunicatorState, table_size> table{};

// A destroyed communicator's place: found by inserts, passed over by searches.
const void* tombstone() noexcept { return &table; }

CommunicatorState& place(const void* handle, std::size_t probe) noexcept {
  const std::uint64_t hash = event::mix(reinterpret_cast<std::uintptr_t>(handle));
  return table[(hash + probe) % table_size];
}

CommunicatorState* search(const void* handle) noexcept {
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    CommunicatorState& state = place(handle, probe);
    const void* key = state.handle.load(std::memory_order_acquire);
    if (key == handle) return &state;
    if (key == nullptr) return nullptr;
  }
  return nullptr;
}

// Reserves a place; its fields are set before the handle makes it visible.
CommunicatorState* reserve(const void* handle) noexcept {
  static constinit char being_filled = 0;
  for (std::size_t probe = 0; probe < longest_probe; ++probe) {
    CommunicatorState& state = place(handle, probe);
    const void* key = state.handle.load(std::memory_order_relaxed);
    if ((key == nullptr || key == tombstone()) &&
        state.handle.compare_exchange_strong(key, &being_filled, std::memory_order_acquire)) {
      return &state;
    }
  }
  return nullptr;
}

std::uint32_t add_to_ring(const CommunicatorState& state) noexcept {
  return take_communicator_slot({state.hash.load(std::memory_order_relaxed),
                                 state.size.load(std::memory_order_relaxed),
                                 state.rank.load(std::memory_order_relaxed), -1});
}

using QueryFunction = ncclResult_t (*)(ncclComm_t, int*);

int query(const char* symbol, const void* handle) noexcept {
  const auto function = reinterpret_cast<QueryFunction>(symbol_in_object("", symbol));
  int value = -1;
  if (function == nullptr) return -1;
  auto* comm = static_cast<ncclComm_t>(const_cast<void*>(handle));
  return function(comm, &value) == ncclSuccess ? value : -1;
}

std::atomic<std::uint32_t>* peer_counters(CommunicatorState& state) noexcept {
  auto* counters = state.peers.load(std::memory_order_acquire);
  if (counters != nullptr) return counters;
  const auto ranks = static_cast<std::size_t>(state.size.load(std::memory_order_relaxed));
  if (ranks == 0) return nullptr;
  const std::size_t bytes = ranks * 2 * sizeof(std::atomic<std::uint32_t>);
  const int saved_errno = errno;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved_errno;
  if (memory == MAP_FAILED) return nullptr;
  auto* fresh = static_cast<std::atomic<std::uint32_t>*>(memory);
  if (state.peers.compare_exchange_strong(counters, fresh, std::memory_order_acq_rel)) return fresh;
  munmap(memory, bytes);
  return counters;
}

std::atomic<std::uint32_t>* peer_counter(CommunicatorState& state, event::Collective kind,
                                         int peer) noexcept {
  const int ranks = state.size.load(std::memory_order_relaxed);
  if (peer < 0 || peer >= ranks) return nullptr;
  auto* counters = peer_counters(state);
  if (counters == nullptr) return nullptr;
  return &counters[peer_counter_index(kind, peer)];
}

void free_peers(CommunicatorState& state) noexcept {
  auto* counters = state.peers.exchange(nullptr, std::memory_order_acq_rel);
  if (counters == nullptr) return;
  const auto ranks = static_cast<std::size_t>(state.size.load(std::memory_order_relaxed));
  const int saved_errno = errno;
  munmap(static_cast<void*>(counters), ranks * 2 * sizeof(*counters));
  errno = saved_errno;
}

}  // namespace

CommunicatorState* add_communicator(ncclComm_t comm, std::uint64_t hash, int size,
                                    int rank) noexcept {
  if (comm == nullptr) return nullptr;
  // An address that NCCL uses again is a new communicator: the old one went round our wrappers.
  remove_communicator(comm);
  CommunicatorState* state = reserve(comm);
  if (state == nullptr) return nullptr;
  state->hash.store(hash, std::memory_order_relaxed);
  state->size.store(size, std::memory_order_relaxed);
  state->rank.store(rank, std::memory_order_relaxed);
  state->collectives.store(0, std::memory_order_relaxed);
  state->children.store(0, std::memory_order_relaxed);
  state->slot = add_to_ring(*state);
  state->handle.store(comm, std::memory_order_release);
  return state;
}

CommunicatorState* communicator_of(ncclComm_t comm) noexcept {
  if (comm == nullptr) return nullptr;
  CommunicatorState* state = search(comm);
  return state != nullptr ? state : add_communicator(comm, 0, 0, -1);
}

void remove_communicator(ncclComm_t comm) noexcept {
  if (CommunicatorState* state = take_out_communicator(comm)) forget_communicator(*state);
}

CommunicatorState* take_out_communicator(ncclComm_t comm) noexcept {
  static constinit char being_ended = 0;
  CommunicatorState* state = comm != nullptr ? search(comm) : nullptr;
  const void* key = comm;
  const bool taken = state != nullptr && state->handle.compare_exchange_strong(
                                             key, &being_ended, std::memory_order_acq_rel);
  return taken ? state : nullptr;
}

void forget_communicator(CommunicatorState& taken_out) noexcept {
  free_peers(taken_out);
  free_communicator_slot(taken_out.slot);
  taken_out.handle.store(tombstone(), std::memory_order_release);
}

void put_back_communicator(CommunicatorState& taken_out, ncclComm_t comm) noexcept {
  taken_out.handle.store(comm, std::memory_order_release);
}

void complete(CommunicatorState& state) noexcept {
  if (state.size.load(std::memory_order_relaxed) > 0) return;
  const void* handle = state.handle.load(std::memory_order_relaxed);
  const int size = query("ncclCommCount", handle);
  const int rank = query("ncclCommUserRank", handle);
  if (size <= 0) return;
  state.rank.store(rank, std::memory_order_relaxed);
  state.size.store(size, std::memory_order_relaxed);
  if (state.slot == 0) return;
  ring::Communicator& entry = ring::target.ring.header().communicators[state.slot - 1];
  entry.size = size;
  entry.rank = rank;
}

std::uint64_t next_of_peer(CommunicatorState& state, event::Collective kind, int peer) noexcept {
  auto* counter = peer_counter(state, kind, peer);
  return counter != nullptr ? count_up(*counter) : 0;
}

void take_back_sequence(CommunicatorState& state, event::Collective kind, int peer) noexcept {
  if (!event::is_point_to_point(kind)) {
    state.collectives.fetch_sub(1, std::memory_order_relaxed);
  } else if (auto* counter = peer_counter(state, kind, peer)) {
    counter->fetch_sub(1, std::memory_order_relaxed);
  }
}

void lose_sequences() noexcept {
  for (CommunicatorState& state : table) {
    const void* handle = state.handle.load(std::memory_order_acquire);
    if (handle == nullptr || handle == tombstone()) continue;
    state.collectives.fetch_or(event::sequence_lost, std::memory_order_relaxed);
    auto* counters = state.peers.load(std::memory_order_acquire);
    const auto ranks = static_cast<std::size_t>(state.size.load(std::memory_order_relaxed));
    for (std::size_t i = 0; counters != nullptr && i < 2 * ranks; ++i) {
      counters[i].fetch_or(event::peer_sequence_lost, std::memory_order_relaxed);
    }
  }
}

std::optional<std::uint32_t> count_shrink(const CommunicatorState& parent,
                                          std::uint64_t excluded) noexcept {
  struct Shrinks {
    std::atomic<std::uint64_t> of;  // 0: free
    std::atomic<std::uint32_t> count;
  };
  // Jobs shrink where ranks have failed: a few times in their lives.
  static constinit std::array<Shrinks, 256> known{};
  const std::uint64_t identity = event::combine(parent.hash.load(std::memory_order_relaxed),
                                                reinterpret_cast<std::uintptr_t>(&parent));
  const std::uint64_t wanted = event::combine(identity, excluded) | 1;
  for (Shrinks& shrinks : known) {
    std::uint64_t of = 0;
    if (shrinks.of.compare_exchange_strong(of, wanted, std::memory_order_relaxed) || of == wanted) {
      return shrinks.count.fetch_add(1, std::memory_order_relaxed);
    }
  }
  return std::nullopt;
}

void rewrite_communicators() noexcept {
  for (CommunicatorState& state : table) {
    const void* handle = state.handle.load(std::memory_order_acquire);
    if (handle != nullptr && handle != tombstone()) state.slot = add_to_ring(state);
  }
}

}  // namespace traceagent::door
