#include <sys/random.h>

#include <cstring>
#include <vector>

#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/timeline.hpp"
#include "tests/sim/nccl/bodies.hpp"
#include "tests/sim/nccl/group.hpp"
#include "tests/sim/nccl/hash.hpp"
#include "tests/sim/nccl/plugin.hpp"

namespace simgpu::nccl {
namespace {

constexpr unsigned config_magic = 0xcafebeef;

std::uint64_t hash_of_id(const ncclUniqueId& id) {
  std::uint64_t words[sizeof id / 8];
  std::memcpy(words, &id, sizeof id);
  std::uint64_t hash = hash_of({});
  for (const std::uint64_t word : words) {
    hash = hash_of({word}, hash);
  }
  return hash;
}

bool valid_config(const ncclConfig_t* config) {
  return config == nullptr || config->magic == config_magic;
}

bool blocks(const ncclConfig_t* config) {
  return config == nullptr || config->blocking != 0;  // undefined means 1
}

ncclResult_t init(Call& call, ncclComm_t* out, int size, const ncclUniqueId& id, int rank,
                  const ncclConfig_t* config, int device) {
  if (out == nullptr || size < 1 || rank < 0 || rank >= size || !valid_config(config)) {
    return fail(ncclInvalidArgument);
  }
  auto comm = std::make_shared<Comm>();
  comm->hash = hash_of_id(id);
  comm->rank = rank;
  comm->size = size;
  comm->device = device;
  comm->blocking = blocks(config);
  note(call, *comm);
  if (const ncclResult_t problem = comm->join()) {
    return fail(problem);
  }
  *out = handle_of(add_comm(comm));
  return establish(comm);
}

void wait_until_idle(Comm& comm) {
  while (comm.is_launching()) {
    sleep_for(100'000);
  }
  while (comm.meeting != nullptr && !comm.meeting->aborted() && !comm.meeting->idle()) {
    Timeline::get().progress();
    sleep_for(100'000);
  }
}

ncclResult_t leave(Call& call, ncclComm_t handle, bool aborts) {
  const CommPtr comm = comm_of(call, handle);
  if (comm == nullptr) {
    return handle == nullptr ? ncclSuccess : ncclInvalidArgument;
  }
  if (aborts && comm->meeting != nullptr) {
    comm->meeting->abort();
    Timeline::get().progress();
  }
  wait_until_idle(*comm);
  plugin::end(*comm);
  remove_comm(comm);
  return ncclSuccess;
}

}  // namespace

BODY(ncclGetVersion)(Call&, int* version) {
  if (version == nullptr) {
    return ncclInvalidArgument;
  }
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

BODY(ncclGetUniqueId)(Call& call, ncclUniqueId* id) {
  if (id == nullptr) {
    return ncclInvalidArgument;
  }
  std::memset(id, 0, sizeof *id);
  if (getrandom(id, 32, 0) != 32) {
    return ncclSystemError;
  }
  call.args().comm_hash = hash_of_id(*id);
  return ncclSuccess;
}

BODY(ncclCommInitRank)(Call& call, ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return init(call, comm, size, id, rank, nullptr, current_device());
}

BODY(ncclCommInitRankConfig)
(Call& call, ncclComm_t* comm, int size, ncclUniqueId id, int rank, ncclConfig_t* config) {
  return init(call, comm, size, id, rank, config, current_device());
}

BODY(ncclCommInitRankScalable)
(Call& call, ncclComm_t* comm, int size, int rank, int ids, ncclUniqueId* id,
 ncclConfig_t* config) {
  if (ids < 1 || ids > size || id == nullptr) {
    return fail(ncclInvalidArgument);
  }
  return init(call, comm, size, id[0], rank, config, current_device());
}

BODY(ncclCommInitAll)(Call& call, ncclComm_t* comms, int count, const int* devices) {
  if (comms == nullptr || count < 1 || count > script().devices) {
    return ncclInvalidArgument;
  }
  std::vector<bool> taken(static_cast<std::size_t>(script().devices), false);
  for (int i = 0; devices != nullptr && i < count; ++i) {
    if (devices[i] < 0 || devices[i] >= script().devices) {
      return ncclUnhandledCudaError;
    }
    if (taken[static_cast<std::size_t>(devices[i])]) {
      return ncclInvalidUsage;
    }
    taken[static_cast<std::size_t>(devices[i])] = true;
  }
  ncclUniqueId id;
  ::ncclGetUniqueId(&id);  // through the PLT, as the real library does
  start_group();
  for (int i = 0; i < count; ++i) {
    init(call, &comms[i], count, id, i, nullptr, devices == nullptr ? i : devices[i]);
  }
  return end_group(true);
}

// The job's variable is null until the communicator is made: at the end of a group, or for one that
// does not block at a time of its own.
static ncclResult_t make_child(Comm& parent, const CommPtr& comm, ncclComm_t* out) {
  if (out != nullptr) {
    add_comm(comm);
    comm->result = out;
  }
  const ncclResult_t result = establish(comm);
  if (result == ncclInProgress) {
    const std::lock_guard lock(parent.mutex);
    parent.children.push_back(comm);
  }
  return result;
}

BODY(ncclCommSplit)
(Call& call, ncclComm_t handle, int color, int key, ncclComm_t* out, ncclConfig_t* config) {
  const CommPtr parent = comm_of(call, handle);
  if (parent == nullptr || out == nullptr || (color < 0 && color != NCCL_SPLIT_NOCOLOR) ||
      !valid_config(config)) {
    return fail(ncclInvalidArgument);
  }
  auto comm = std::make_shared<Comm>();
  comm->state = Comm::State::splitting;
  comm->parent = parent;
  comm->round = parent->splits.fetch_add(1);
  comm->color = color;
  comm->device = parent->device;
  comm->blocking = config == nullptr ? parent->blocking : blocks(config);
  parent->meeting->say(comm->round, color, key);
  call.args().peer = color;
  call.args().count = static_cast<std::uint64_t>(static_cast<std::int64_t>(key));
  *out = nullptr;
  return make_child(*parent, comm, color != NCCL_SPLIT_NOCOLOR ? out : nullptr);
}

BODY(ncclCommShrink)
(Call& call, ncclComm_t handle, int* excluded, int count, ncclComm_t* out, ncclConfig_t* config,
 int flags) {
  const CommPtr parent = comm_of(call, handle);
  if (parent == nullptr || out == nullptr || excluded == nullptr || count < 1 ||
      flags > NCCL_SHRINK_ABORT || !valid_config(config)) {
    return fail(ncclInvalidArgument);
  }
  std::vector<bool> gone(static_cast<std::size_t>(parent->size), false);
  for (int i = 0; i < count; ++i) {
    if (excluded[i] < 0 || excluded[i] >= parent->size || excluded[i] == parent->rank) {
      return fail(ncclInvalidArgument);
    }
    gone[static_cast<std::size_t>(excluded[i])] = true;
  }
  if (flags == NCCL_SHRINK_ABORT) {
    parent->meeting->abort();
  }
  auto comm = std::make_shared<Comm>();
  comm->hash = hash_of({parent->hash, 0x73687269});
  for (int each = 0; each < parent->size; ++each) {
    const bool stays = !gone[static_cast<std::size_t>(each)];
    comm->rank += stays && each < parent->rank ? 1 : 0;
    comm->size += stays ? 1 : 0;
    comm->hash = hash_of({stays ? 1U : 0U}, comm->hash);
  }
  comm->device = parent->device;
  comm->blocking = config == nullptr ? parent->blocking : blocks(config);
  if (const ncclResult_t problem = comm->join()) {
    return fail(problem);
  }
  *out = nullptr;
  return make_child(*parent, comm, out);
}

BODY(ncclCommFinalize)(Call& call, ncclComm_t handle) {
  const CommPtr comm = comm_of(call, handle);
  if (comm == nullptr) {
    return ncclInvalidArgument;
  }
  wait_until_idle(*comm);
  return ncclSuccess;
}

BODY(ncclCommDestroy)(Call& call, ncclComm_t handle) { return leave(call, handle, false); }

BODY(ncclCommAbort)(Call& call, ncclComm_t handle) { return leave(call, handle, true); }

BODY(ncclCommRevoke)(Call& call, ncclComm_t handle, int flags) {
  const CommPtr comm = comm_of(call, handle);
  if (comm == nullptr || flags != NCCL_REVOKE_DEFAULT) {
    return ncclInvalidArgument;
  }
  comm->meeting->abort();
  Timeline::get().progress();
  return ncclSuccess;
}

}  // namespace simgpu::nccl
