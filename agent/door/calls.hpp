#pragma once
// What is recorded of a CUDA call's arguments: one small type per kind of call. A row of
// api/cuda_runtime.def ends with one of these, built from the call's parameters. Each says
//   call_class   which mode governs it
//   fill()       how it lies in the record (event::Layout)
//   passes()     whether step detection knows of the call without being told, if it can be known
//   observe()    what step detection is told, if anything
//   finish()     what is known only after the call, if anything
// Nothing here may dereference a pointer of the job that the real function would not.

#include <cuda_runtime_api.h>

#include <cstdint>

#include "agent/device/event_timing.hpp"
#include "agent/door/kernel_names.hpp"
#include "agent/door/register_dim3.hpp"
#include "agent/door/resource_names.hpp"
#include "agent/door/widened.hpp"
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
  RegisterDim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;

  LaunchCall(const void* called, RegisterDim3 blocks, RegisterDim3 threads, std::size_t shared,
             cudaStream_t on)
      : function(called), grid(blocks), block(threads), shared_bytes(shared), stream(on) {}

  void fill(Record& record) const noexcept {
    record.layout = Layout::launch;
    record.extra = kernel_name(function);
    record.detail = static_cast<std::uint32_t>(shared_bytes);
    record.args[0] = grid.x_and_y;
    record.args[1] = grid.z | std::uint64_t{block.x()} << 32;
    record.args[2] = block.y() | widened(block.z) << 32;
    record.args[3] = bits(stream);
  }
  [[gnu::always_inline]] bool passes(step::Tracker& tracker) const noexcept {
    return tracker.passes_launch(bits(function));
  }
  void observe(step::Tracker& tracker, std::uint64_t ticks) const noexcept {
    if ((tracker.interest() & step::interest_launches) != 0) {
      tracker.launch(bits(function), ticks);
    }
  }
};

inline LaunchCall launch_with_config(const cudaLaunchConfig_t* config, const void* function) {
  if (config == nullptr) return {function, {}, {}, 0, nullptr};
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

// In bytes, but where an array takes part in elements of that array, whose size only CUDA knows.
// It is not asked: the handle may be stale, and a call that fails would leave its error where the
// job looks for its own. The work on the device says the bytes.
template <class Extent>
std::size_t extent_bytes(const Extent& extent, bool has_array) noexcept {
  const std::size_t elements = extent.width * extent.height * extent.depth;
  return has_array && elements != 0 ? event::unknown_bytes : elements;
}

// Of cudaMemcpy3DParms and cudaMemcpy3DPeerParms.
template <class Box>
std::size_t box_bytes(const Box& box) noexcept {
  return extent_bytes(box.extent, box.dstArray != nullptr || box.srcArray != nullptr);
}
template <class Box>
const void* box_target(const Box& box) noexcept {
  return box.dstArray != nullptr ? box.dstArray : box.dstPtr.ptr;
}
template <class Box>
const void* box_source(const Box& box) noexcept {
  return box.srcArray != nullptr ? box.srcArray : box.srcPtr.ptr;
}

inline CopyCall copy_3d(const cudaMemcpy3DParms* copy, cudaStream_t stream) noexcept {
  if (copy == nullptr) return {nullptr, nullptr, 0, 0, stream};
  return {box_target(*copy), box_source(*copy), box_bytes(*copy), copy->kind, stream};
}

// The runtime's addresses, and the driver's (CUdeviceptr).
inline const void* at(const void* address) noexcept { return address; }
inline const void* at(unsigned long long address) noexcept {
  return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(address));
}

// Of a batch the first one's addresses and the bytes of all; the real function reads the same
// lists. Those of the runtime and of the driver have the same members.
inline std::size_t sum_of(const std::size_t* sizes, std::size_t count) noexcept {
  std::size_t sum = 0;
  for (std::size_t i = 0; sizes != nullptr && i < count; ++i) sum += sizes[i];
  return sum;
}

// `list` may be nullptr, as what the job passes.
template <class Address>
const void* first_of(const Address* list, std::size_t count) noexcept {
  return list != nullptr && count > 0 ? at(list[0]) : nullptr;
}

template <class Target, class Source>
CopyCall copy_batch(const Target* dsts, const Source* srcs, const std::size_t* sizes,
                    std::size_t count, cudaStream_t stream) noexcept {
  return {first_of(dsts, count), first_of(srcs, count), sum_of(sizes, count), cudaMemcpyDefault,
          stream};
}

template <class Operand>
bool is_array(const Operand& operand) noexcept {
  return static_cast<int>(operand.type) == static_cast<int>(cudaMemcpyOperandTypeArray);
}

template <class Operand>
const void* operand_address(const Operand& operand) noexcept {
  return is_array(operand) ? operand.op.array.array : at(operand.op.ptr.ptr);
}

template <class Copy>
CopyCall copy_batch_3d(const Copy* copies, std::size_t count, cudaStream_t stream) noexcept {
  if (copies == nullptr || count == 0) return {nullptr, nullptr, 0, cudaMemcpyDefault, stream};
  std::size_t sum = 0;
  for (std::size_t i = 0; i < count && sum != event::unknown_bytes; ++i) {
    const bool has_array = is_array(copies[i].dst) || is_array(copies[i].src);
    const std::size_t bytes = extent_bytes(copies[i].extent, has_array);
    sum = bytes == event::unknown_bytes ? bytes : sum + bytes;
  }
  return {operand_address(copies->dst), operand_address(copies->src), sum, cudaMemcpyDefault,
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
  return {box_target(*copy), box_source(*copy), box_bytes(*copy), stream,
          copy->dstDevice,   copy->srcDevice};
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

template <class Address>
SetCall set_batch(const Address* pointers, const std::size_t* sizes, std::size_t count,
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

// Both may be nullptr or 0, as what the job passes; of a line or a plane the rest is 0.
inline AllocationCall allocate_array(cudaArray_t* result, const cudaChannelFormatDesc* format,
                                     std::size_t width, std::size_t height,
                                     std::size_t depth) noexcept {
  const int bits = format != nullptr ? format->x + format->y + format->z + format->w : 0;
  const std::size_t elements = width * (height != 0 ? height : 1) * (depth != 0 ? depth : 1);
  return {reinterpret_cast<void**>(result), elements * static_cast<std::size_t>(bits) / 8, nullptr};
}

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

// The host is to be told how far the device is: a boundary of steps like a wait. JAX waits for a
// step in no other way that a door would see.
struct HostFunctionCall : StreamCall {
  static constexpr CallClass call_class = CallClass::synchronise;
  using StreamCall::StreamCall;
  void observe(step::Tracker& tracker, std::uint64_t ticks) const noexcept {
    if ((tracker.interest() & step::interest_synchronisations) != 0) tracker.synchronise(ticks);
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
  [[gnu::always_inline]] bool passes(step::Tracker& tracker) const noexcept {
    return tracker.passes_launch(bits(exec));
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
