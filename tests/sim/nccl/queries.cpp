#include "tests/sim/engine/device.hpp"
#include "tests/sim/engine/memory.hpp"
#include "tests/sim/nccl/bodies.hpp"
#include "tests/sim/nccl/comm.hpp"

namespace simgpu::nccl {
namespace {

struct Registration {
  void* buffer;
  std::size_t bytes;
};

ncclResult_t give(Call& call, ncclComm_t handle, int* out, int Comm::*field) {
  const CommPtr comm = comm_of(call, handle);
  if (comm == nullptr || out == nullptr) {
    return ncclInvalidArgument;
  }
  *out = comm.get()->*field;
  return ncclSuccess;
}

}  // namespace

BODY(ncclCommCount)(Call& call, const ncclComm_t comm, int* count) {
  return give(call, comm, count, &Comm::size);
}

BODY(ncclCommCuDevice)(Call& call, const ncclComm_t comm, int* device) {
  return give(call, comm, device, &Comm::device);
}

BODY(ncclCommUserRank)(Call& call, const ncclComm_t comm, int* rank) {
  return give(call, comm, rank, &Comm::rank);
}

BODY(ncclCommGetAsyncError)(Call& call, ncclComm_t handle, ncclResult_t* error) {
  const CommPtr comm = comm_of(call, handle);
  if (comm == nullptr || error == nullptr) {
    return ncclInvalidArgument;
  }
  *error = comm->try_establish() && !comm->is_making_children() && !comm->is_launching()
               ? ncclSuccess
               : ncclInProgress;
  return ncclSuccess;
}

BODY(ncclMemAlloc)(Call& call, void** out, std::size_t bytes) {
  call.args().bytes = bytes;
  if (out == nullptr || bytes == 0) {
    return ncclInvalidArgument;
  }
  *out = memory::allocate(bytes, memory::Kind::device, current_device());
  call.args().address = reinterpret_cast<std::uint64_t>(*out);
  return *out == nullptr ? ncclUnhandledCudaError : ncclSuccess;
}

BODY(ncclMemFree)(Call& call, void* address) {
  call.args().address = reinterpret_cast<std::uint64_t>(address);
  if (address == nullptr) {
    return ncclSuccess;
  }
  return memory::release(address, false) ? ncclSuccess : ncclUnhandledCudaError;
}

BODY(ncclCommRegister)
(Call& call, const ncclComm_t handle, void* buffer, std::size_t bytes, void** out) {
  call.args().bytes = bytes;
  call.args().address = reinterpret_cast<std::uint64_t>(buffer);
  if (comm_of(call, handle) == nullptr || out == nullptr || buffer == nullptr || bytes == 0) {
    return ncclInvalidArgument;
  }
  *out = new Registration{buffer, bytes};
  return ncclSuccess;
}

BODY(ncclCommDeregister)(Call& call, const ncclComm_t handle, void* registration) {
  if (comm_of(call, handle) == nullptr) {
    return ncclInvalidArgument;
  }
  delete static_cast<Registration*>(registration);
  return ncclSuccess;
}

BODY(ncclCommWindowRegister)
(Call& call, ncclComm_t handle, void* buffer, std::size_t bytes, ncclWindow_t* out, int flags) {
  call.args().bytes = bytes;
  call.args().address = reinterpret_cast<std::uint64_t>(buffer);
  if (comm_of(call, handle) == nullptr || out == nullptr || flags > NCCL_WIN_COLL_SYMMETRIC) {
    return ncclInvalidArgument;
  }
  void* registration = nullptr;
  // Through the PLT, as the real library does.
  if (const ncclResult_t problem = ::ncclCommRegister(handle, buffer, bytes, &registration)) {
    return problem;
  }
  *out = static_cast<ncclWindow_t>(registration);
  return ncclSuccess;
}

BODY(ncclCommWindowDeregister)(Call& call, ncclComm_t handle, ncclWindow_t window) {
  if (comm_of(call, handle) == nullptr) {
    return ncclInvalidArgument;
  }
  return ::ncclCommDeregister(handle, window);
}

BODY(ncclRedOpCreatePreMulSum)
(Call& call, ncclRedOp_t* out, void* scalar, ncclDataType_t type, ncclScalarResidence_t,
 ncclComm_t handle) {
  const CommPtr comm = comm_of(call, handle);
  call.args().dtype = type;
  if (comm == nullptr || out == nullptr || scalar == nullptr || type < 0 || type >= ncclNumTypes) {
    return ncclInvalidArgument;
  }
  std::lock_guard lock(comm->mutex);
  comm->operators.insert(comm->next_operator);
  *out = static_cast<ncclRedOp_t>(comm->next_operator++);
  return ncclSuccess;
}

BODY(ncclRedOpDestroy)(Call& call, ncclRedOp_t op, ncclComm_t handle) {
  const CommPtr comm = comm_of(call, handle);
  call.args().op = op;
  if (comm == nullptr) {
    return ncclInvalidArgument;
  }
  std::lock_guard lock(comm->mutex);
  return comm->operators.erase(op) == 0 ? ncclInvalidArgument : ncclSuccess;
}

}  // namespace simgpu::nccl
