#include "tests/sim/nccl/comm.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "tests/sim/engine/clock.hpp"
#include "tests/sim/nccl/hash.hpp"
#include "tests/sim/nccl/plugin.hpp"

namespace simgpu::nccl {
namespace {

constexpr std::int64_t poll_ns = 200'000;

struct Comms {
  std::mutex mutex;
  std::map<const void*, CommPtr> known;
};

Comms& comms() {
  static auto* instance = new Comms;
  return *instance;
}

}  // namespace

ncclResult_t Comm::join() {
  try {
    meeting = std::make_shared<Meeting>(hash, rank, size, device);
  } catch (const std::runtime_error& problem) {
    std::fprintf(stderr, "simgpu: %s\n", problem.what());
    return ncclInvalidUsage;
  }
  state = State::joining;
  return ncclSuccess;
}

// Among those of one color, ranks go by key, then by the rank in the parent.
void Comm::take_place_in_split() {
  std::vector<std::pair<std::int64_t, int>> places;
  for (int each = 0; each < parent->size; ++each) {
    const auto [other_color, other_key] = parent->meeting->said(round, each);
    if (other_color == color) {
      places.emplace_back(other_key, each);
    }
  }
  std::sort(places.begin(), places.end());
  const auto self = std::find_if(places.begin(), places.end(), [this](const auto& place) {
    return place.second == parent->rank;
  });
  rank = static_cast<int>(self - places.begin());
  size = static_cast<int>(places.size());
  hash = hash_of({parent->hash, round, static_cast<std::uint64_t>(color)});
}

bool Comm::try_establish() {
  if (state == State::splitting && parent->meeting->exchanged(round)) {
    if (color == NCCL_SPLIT_NOCOLOR) {
      state = State::ready;
      return true;
    }
    take_place_in_split();
    if (join() != ncclSuccess) {
      return false;
    }
    parent = nullptr;
  }
  if (state == State::joining && meeting->everyone_in()) {
    state = State::ready;
    plugin::begin(*this);
    if (result != nullptr) *std::exchange(result, nullptr) = reinterpret_cast<ncclComm_t>(this);
  }
  return state == State::ready;
}

bool Comm::is_launching() {
  const std::lock_guard lock(mutex);
  if (launching != nullptr && launching->is_over()) {
    launching = nullptr;
  }
  return launching != nullptr;
}

bool Comm::is_making_children() {
  const std::lock_guard lock(mutex);
  std::erase_if(children, [](const CommPtr& child) { return child->try_establish(); });
  return !children.empty();
}

ncclResult_t Comm::establish() {
  while (!try_establish()) {
    sleep_for(poll_ns);
  }
  return ncclSuccess;
}

ncclComm_t handle_of(const CommPtr& comm) { return reinterpret_cast<ncclComm_t>(comm.get()); }

CommPtr add_comm(CommPtr comm) {
  std::lock_guard lock(comms().mutex);
  comms().known[comm.get()] = comm;
  return comm;
}

void note(Call& call, const Comm& comm) {
  call.args().comm_hash = comm.hash;
  call.args().comm_rank = comm.rank;
  call.args().comm_size = comm.size;
  call.args().device = comm.device;
}

CommPtr comm_of(Call& call, ncclComm_t handle) {
  CommPtr comm;
  {
    std::lock_guard lock(comms().mutex);
    const auto found = comms().known.find(handle);
    if (found == comms().known.end()) {
      return nullptr;
    }
    comm = found->second;
  }
  note(call, *comm);
  return comm;
}

void remove_comm(const CommPtr& comm) {
  std::lock_guard lock(comms().mutex);
  comms().known.erase(comm.get());
}

}  // namespace simgpu::nccl
