#include "tests/sim/engine/timeline.hpp"
#include "tests/sim/nccl/bodies.hpp"
#include "tests/sim/nccl/group.hpp"
#include "tests/sim/nccl/plugin.hpp"

namespace simgpu::nccl {
namespace {

constexpr int no_op = -1;
constexpr int no_peer = -1;

/// What a program asked for, in NCCL's terms. rounds: how often the count goes over the wire.
struct Request {
  std::uint16_t function;
  Task::Kind kind;
  const void* buffer;
  std::size_t count;
  ncclDataType_t type;
  int op;
  int peer;
  ncclComm_t comm;
  cudaStream_t stream;
  bool scales_with_ranks;
};

std::size_t type_bytes(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

// The default streams are those of the communicator's device, not of the thread's.
Stream* stream_of(const Comm& comm, cudaStream_t handle) {
  Timeline& timeline = Timeline::get();
  if (handle == cudaStreamPerThread) {
    return timeline.thread_stream(comm.device);
  }
  if (handle == nullptr || handle == cudaStreamLegacy) {
    return timeline.legacy_stream(comm.device);
  }
  auto* stream = reinterpret_cast<Stream*>(handle);
  return timeline.is_stream(stream) ? stream : nullptr;
}

bool valid_op(Comm& comm, int op) {
  if (op == no_op || (op >= 0 && op < ncclNumOps)) {
    return true;
  }
  std::lock_guard lock(comm.mutex);
  return comm.operators.contains(op);
}

bool has_peer(const Request& request) {
  switch (request.function) {
    case Number::ncclReduce:
    case Number::ncclBroadcast:
    case Number::ncclGather:
    case Number::ncclScatter:
      return true;
    default:
      return request.kind != Task::Kind::collective;
  }
}

bool valid_peer(const Comm& comm, const Request& request) {
  return !has_peer(request) || (request.peer >= 0 && request.peer < comm.size);
}

void note_request(Call& call, const Request& request) {
  Record& record = call.args();
  record.address = reinterpret_cast<std::uint64_t>(request.buffer);
  record.stream = reinterpret_cast<std::uint64_t>(request.stream);
  record.count = request.count;
  record.bytes = request.count * type_bytes(request.type);
  record.dtype = request.type;
  record.op = request.op;
  record.peer = request.peer;
}

Task task_of(Call& call, const CommPtr& comm, Stream& stream, const Request& request) {
  Task task;
  task.comm = comm;
  task.stream = &stream;
  task.kind = request.kind;
  task.call_number = call.number();
  task.type_bytes = type_bytes(request.type);
  const auto ranks = static_cast<std::uint64_t>(request.scales_with_ranks ? comm->size : 1);
  task.label = {request.function,
                comm->hash,
                request.count,
                request.count * type_bytes(request.type) * ranks,
                static_cast<std::int32_t>(request.type),
                request.op,
                request.peer};
  return task;
}

ncclResult_t request(Call& call, const Request& wanted) {
  note_request(call, wanted);
  const CommPtr comm = comm_of(call, wanted.comm);
  if (comm == nullptr || type_bytes(wanted.type) == 0 || !valid_op(*comm, wanted.op) ||
      !valid_peer(*comm, wanted)) {
    return fail(ncclInvalidArgument);
  }
  if (!comm->try_establish()) {
    return fail(ncclInvalidUsage);
  }
  // ncclCommGetAsyncError must have said that the operation before is launched.
  if (comm->is_launching()) {
    return fail(ncclInvalidArgument);
  }
  Stream* stream = stream_of(*comm, wanted.stream);
  if (stream == nullptr) {
    return fail(ncclUnhandledCudaError);
  }
  call.args().stream_id = stream->id;
  if (wanted.kind == Task::Kind::collective) {
    call.args().comm_seq = comm->collectives.fetch_add(1);
  }
  Task task = task_of(call, comm, *stream, wanted);
  plugin::call_begins(task);
  return submit(std::move(task));
}

}  // namespace

BODY(ncclAllReduce)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
 ncclComm_t comm, cudaStream_t stream) {
  return request(call, {Number::ncclAllReduce, Task::Kind::collective, from, count, type, op,
                        no_peer, comm, stream, false});
}

BODY(ncclReduce)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
 int root, ncclComm_t comm, cudaStream_t stream) {
  return request(call, {Number::ncclReduce, Task::Kind::collective, from, count, type, op, root,
                        comm, stream, false});
}

BODY(ncclBroadcast)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, int root,
 ncclComm_t comm, cudaStream_t stream) {
  return request(call, {Number::ncclBroadcast, Task::Kind::collective, from, count, type, no_op,
                        root, comm, stream, false});
}

// Through the PLT, as the real library does: an interposed ncclBroadcast sees a nested call. The
// outer call's record keeps the arguments.
BODY(ncclBcast)
(Call& call, void* buffer, std::size_t count, ncclDataType_t type, int root, ncclComm_t handle,
 cudaStream_t stream) {
  note_request(call, {Number::ncclBcast, Task::Kind::collective, buffer, count, type, no_op, root,
                      handle, stream, false});
  if (const CommPtr comm = comm_of(call, handle)) {
    call.args().comm_seq = comm->collectives.load();
  }
  return ::ncclBroadcast(buffer, buffer, count, type, root, handle, stream);
}

BODY(ncclReduceScatter)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
 ncclComm_t comm, cudaStream_t stream) {
  return request(call, {Number::ncclReduceScatter, Task::Kind::collective, from, count, type, op,
                        no_peer, comm, stream, true});
}

BODY(ncclAllGather)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, ncclComm_t comm,
 cudaStream_t stream) {
  return request(call, {Number::ncclAllGather, Task::Kind::collective, from, count, type, no_op,
                        no_peer, comm, stream, true});
}

BODY(ncclAlltoAll)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, ncclComm_t comm,
 cudaStream_t stream) {
  return request(call, {Number::ncclAlltoAll, Task::Kind::collective, from, count, type, no_op,
                        no_peer, comm, stream, true});
}

BODY(ncclGather)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, int root,
 ncclComm_t comm, cudaStream_t stream) {
  return request(call, {Number::ncclGather, Task::Kind::collective, from, count, type, no_op, root,
                        comm, stream, true});
}

BODY(ncclScatter)
(Call& call, const void* from, void*, std::size_t count, ncclDataType_t type, int root,
 ncclComm_t comm, cudaStream_t stream) {
  return request(call, {Number::ncclScatter, Task::Kind::collective, from, count, type, no_op, root,
                        comm, stream, true});
}

BODY(ncclSend)
(Call& call, const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
 cudaStream_t stream) {
  return request(call, {Number::ncclSend, Task::Kind::send, from, count, type, no_op, peer, comm,
                        stream, false});
}

BODY(ncclRecv)
(Call& call, void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
 cudaStream_t stream) {
  return request(call, {Number::ncclRecv, Task::Kind::receive, to, count, type, no_op, peer, comm,
                        stream, false});
}

}  // namespace simgpu::nccl
