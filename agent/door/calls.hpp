#pragma once
// What is recorded of a CUDA call's arguments: one small type per kind of call. A row of
// api/cuda_runtime.def ends with one of these, built from the call's parameters. Each says
//   call_class   which mode governs it
//   fill()       how it lies in the record (event::Layout)
//   observe()    what step detection is told, if anything
//   finish()     what is known only after the call, if anything
// Nothing here may dereference a pointer of the job that the real function would not.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "agent/device/event_timing.hpp"
#include "agent/door/kernel_names.hpp"
#include "agent/door/resource_names.hpp"
#include "agent/event/record.hpp"
#include "agent/step/state.hpp"

namespace traceagent::door {

using event::Layout;
using event::Record;
using step::CallClass;

inline std::uint64_t bits(const void* pointer) noexcept {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// Base of all: no arguments, nothing to observe, nothing to add after the call.
struct CallBase {
  void fill(Record& record) const noexcept { record.layout = Layout::none; }
  void observe(step::Tracker&, std::uint64_t) const noexcept {}
  void finish(Record&, int) const noexcept {}
};

struct LaunchCall : CallBase {
  static constexpr CallClass call_class = CallClass::launch;
  const void* function;
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;

  LaunchCall(const void* called, dim3 blocks, dim3 threads, std::size_t shared, cudaStream_t on)
      : function(called), grid(blocks), block(threads), shared_bytes(shared), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::launch;
    record.extra = kernel_name(function);
    record.detail = static_cast<std::uint32_t>(shared_bytes);
    record.args[0] = grid.x | std::uint64_t{grid.y} << 32;
    record.args[1] = grid.z | std::uint64_t{block.x} << 32;
    record.args[2] = block.y | std::uint64_t{block.z} << 32;
    record.args[3] = bits(stream);
  }
  void observe(step::Tracker& tracker, std::uint64_t ticks) const noexcept {
    if ((tracker.interest() & step::interest_launches) != 0) {
      tracker.launch(bits(function), ticks);
    }
  }
};

inline LaunchCall launch_with_config(const cudaLaunchConfig_t* config, const void* function) {
  if (config == nullptr) return {function, dim3(0, 0, 0), dim3(0, 0, 0), 0, nullptr};
  return {function, config->gridDim, config->blockDim, config->dynamicSmemBytes, config->stream};
}

struct CopyCall : CallBase {
  static constexpr CallClass call_class = CallClass::copy;
  const void* dst;
  const void* src;
  std::size_t bytes;
  int kind;
  cudaStream_t stream;

  CopyCall(const void* to, const void* from, std::size_t size, int copy_kind, cudaStream_t on)
      : dst(to), src(from), bytes(size), kind(copy_kind), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::copy;
    record.detail = static_cast<std::uint32_t>(kind);
    record.args[0] = bits(dst);
    record.args[1] = bits(src);
    record.args[2] = bytes;
    record.args[3] = bits(stream);
  }
  void observe(step::Tracker& tracker, std::uint64_t ticks) const noexcept {
    const step::Interest interest = tracker.interest();
    if (kind == cudaMemcpyHostToDevice && (interest & step::interest_copies) != 0) {
      tracker.copy_to_device(ticks);
    }
    // A copy to the host is where a loop reads its loss: a boundary of steps like a wait.
    if (kind == cudaMemcpyDeviceToHost && (interest & step::interest_synchronisations) != 0) {
      tracker.synchronise(ticks);
    }
  }
};

inline CopyCall copy_3d(const cudaMemcpy3DParms* copy, cudaStream_t stream) noexcept {
  if (copy == nullptr) return {nullptr, nullptr, 0, 0, stream};
  const cudaExtent& extent = copy->extent;
  return {copy->dstPtr.ptr, copy->srcPtr.ptr, extent.width * extent.height * extent.depth,
          copy->kind, stream};
}

// Of a batch the first one's addresses and the bytes of all; the real function reads the same
// lists.
inline std::size_t sum_of(const std::size_t* sizes, std::size_t count) noexcept {
  std::size_t sum = 0;
  for (std::size_t i = 0; sizes != nullptr && i < count; ++i) sum += sizes[i];
  return sum;
}

// `list` may be nullptr, as what the job passes.
template <class Pointer>
const void* first_of(const Pointer* list, std::size_t count) noexcept {
  return list != nullptr && count > 0 ? list[0] : nullptr;
}

inline CopyCall copy_batch(const void* const* dsts, const void* const* srcs,
                           const std::size_t* sizes, std::size_t count,
                           cudaStream_t stream) noexcept {
  return {first_of(dsts, count), first_of(srcs, count), sum_of(sizes, count), cudaMemcpyDefault,
          stream};
}

inline const void* operand_address(const cudaMemcpy3DOperand& operand) noexcept {
  const bool is_pointer = operand.type == cudaMemcpyOperandTypePointer;
  return is_pointer ? operand.op.ptr.ptr : operand.op.array.array;
}

inline CopyCall copy_batch_3d(const cudaMemcpy3DBatchOp* copies, std::size_t count,
                              cudaStream_t stream) noexcept {
  if (copies == nullptr || count == 0) return {nullptr, nullptr, 0, cudaMemcpyDefault, stream};
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const cudaExtent& extent = copies[i].extent;
    bytes += extent.width * extent.height * extent.depth;
  }
  return {operand_address(copies->dst), operand_address(copies->src), bytes, cudaMemcpyDefault,
          stream};
}

struct PeerCopyCall : CallBase {
  static constexpr CallClass call_class = CallClass::copy;
  const void* dst;
  const void* src;
  std::size_t bytes;
  cudaStream_t stream;
  int dst_device, src_device;

  PeerCopyCall(const void* to, const void* from, std::size_t size, cudaStream_t on, int to_device,
               int from_device)
      : dst(to),
        src(from),
        bytes(size),
        stream(on),
        dst_device(to_device),
        src_device(from_device) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::peer_copy;
    record.detail = static_cast<std::uint32_t>(dst_device);
    record.extra = static_cast<std::uint32_t>(src_device);
    record.args[0] = bits(dst);
    record.args[1] = bits(src);
    record.args[2] = bytes;
    record.args[3] = bits(stream);
  }
};

inline PeerCopyCall copy_3d_peer(const cudaMemcpy3DPeerParms* copy, cudaStream_t stream) noexcept {
  if (copy == nullptr) return {nullptr, nullptr, 0, stream, 0, 0};
  const cudaExtent& extent = copy->extent;
  return {copy->dstPtr.ptr, copy->srcPtr.ptr, extent.width * extent.height * extent.depth,
          stream,           copy->dstDevice,  copy->srcDevice};
}

// Memory of a size: sets, registrations, prefetches.
struct SetCall : CallBase {
  static constexpr CallClass call_class = CallClass::memory;
  const void* pointer;
  int value;
  std::size_t bytes;
  cudaStream_t stream;

  SetCall(const void* at, int with, std::size_t size, cudaStream_t on)
      : pointer(at), value(with), bytes(size), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::set;
    record.detail = static_cast<std::uint32_t>(value);
    record.args[0] = bits(pointer);
    record.args[2] = bytes;
    record.args[3] = bits(stream);
  }
};

inline SetCall set_batch(const void* const* pointers, const std::size_t* sizes, std::size_t count,
                         cudaStream_t stream) noexcept {
  return {first_of(pointers, count), 0, sum_of(sizes, count), stream};
}

struct AllocationCall : CallBase {
  static constexpr CallClass call_class = CallClass::memory;
  void** pointer;
  std::size_t bytes;
  cudaStream_t stream;

  AllocationCall(void** result, std::size_t size, cudaStream_t on)
      : pointer(result), bytes(size), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::allocation;
    record.args[2] = bytes;
    record.args[3] = bits(stream);
  }
  void finish(Record& record, int result) const noexcept {
    if (result == cudaSuccess && pointer != nullptr) record.args[0] = bits(*pointer);
  }
};

struct FreeCall : CallBase {
  static constexpr CallClass call_class = CallClass::memory;
  const void* pointer;
  cudaStream_t stream;

  FreeCall(const void* at, cudaStream_t on) : pointer(at), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::allocation;
    record.args[0] = bits(pointer);
    record.args[3] = bits(stream);
  }
};

struct StreamCall : CallBase {
  static constexpr CallClass call_class = CallClass::stream;
  cudaStream_t stream;

  explicit StreamCall(cudaStream_t on) : stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::stream;
    record.args[3] = bits(stream);
  }
};

// Another stream may be given the handle as soon as the call has returned, and a name in the next
// moment: the old one's goes before.
struct StreamDestroyCall : StreamCall {
  using StreamCall::StreamCall;
  static bool is_watched() noexcept { return named_streams.load(std::memory_order_relaxed) != 0; }
  void tell() const noexcept {
    if (is_watched()) forget_stream(stream);
  }
};

struct StreamCreateCall : CallBase {
  static constexpr CallClass call_class = CallClass::stream;
  cudaStream_t* stream;

  explicit StreamCreateCall(cudaStream_t* result) : stream(result) {}

  void fill(Record& record) const noexcept { record.layout = Layout::stream; }
  void finish(Record& record, int result) const noexcept {
    if (result == cudaSuccess && stream != nullptr) record.args[3] = bits(*stream);
  }
};

struct EventCall : CallBase {
  static constexpr CallClass call_class = CallClass::stream;
  cudaEvent_t event;
  cudaStream_t stream;

  EventCall(cudaEvent_t of, cudaStream_t on) : event(of), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::event;
    record.args[0] = bits(event);
    record.args[3] = bits(stream);
  }
};

struct EventCreateCall : CallBase {
  static constexpr CallClass call_class = CallClass::stream;
  cudaEvent_t* event;

  explicit EventCreateCall(cudaEvent_t* result) : event(result) {}

  void fill(Record& record) const noexcept { record.layout = Layout::event; }
  void finish(Record& record, int result) const noexcept {
    if (result == cudaSuccess && event != nullptr) record.args[0] = bits(*event);
  }
};

struct SynchroniseCall : CallBase {
  static constexpr CallClass call_class = CallClass::synchronise;
  const void* handle;

  explicit SynchroniseCall(const void* waited_for) : handle(waited_for) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::synchronise;
    record.args[0] = bits(handle);
  }
  void observe(step::Tracker& tracker, std::uint64_t ticks) const noexcept {
    if ((tracker.interest() & step::interest_synchronisations) != 0) tracker.synchronise(ticks);
  }
};

struct GraphCall : CallBase {
  static constexpr CallClass call_class = CallClass::stream;
  const void* graph;

  explicit GraphCall(const void* of) : graph(of) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::graph;
    record.args[0] = bits(graph);
  }
};

struct GraphLaunchCall : CallBase {
  static constexpr CallClass call_class = CallClass::launch;
  cudaGraphExec_t exec;
  cudaStream_t stream;

  GraphLaunchCall(cudaGraphExec_t of, cudaStream_t on) : exec(of), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::graph;
    record.args[0] = bits(exec);
    record.args[3] = bits(stream);
  }
  void observe(step::Tracker& tracker, std::uint64_t ticks) const noexcept {
    if ((tracker.interest() & step::interest_launches) != 0) tracker.launch(bits(exec), ticks);
  }
};

struct DeviceCall : CallBase {
  static constexpr CallClass call_class = CallClass::stream;
  int device;

  explicit DeviceCall(int number) : device(number) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::device;
    record.detail = static_cast<std::uint32_t>(device);
  }
};

struct OtherCall : CallBase {
  static constexpr CallClass call_class = CallClass::stream;
};

struct DeviceResetCall : OtherCall {
  // Our own events die with the job's contexts.
  static void before_every() noexcept { device::before_device_reset(); }
};

}  // namespace traceagent::door
