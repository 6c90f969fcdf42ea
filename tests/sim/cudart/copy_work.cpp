#include <cstring>

#include "tests/sim/cudart/bodies.hpp"
#include "tests/sim/cudart/work.hpp"
#include "tests/sim/engine/memory.hpp"
#include "tests/sim/engine/script.hpp"

namespace simgpu::cudart {
namespace {

bool on_device(const std::optional<memory::Block>& block) {
  return block && (block->kind == memory::Kind::device || block->kind == memory::Kind::managed);
}

std::size_t span(std::size_t width, std::size_t rows, std::size_t pitch) {
  return rows == 0 ? 0 : (rows - 1) * pitch + width;
}

cudaMemcpyKind actual_kind(bool from_device, bool to_device) {
  if (from_device) {
    return to_device ? cudaMemcpyDeviceToDevice : cudaMemcpyDeviceToHost;
  }
  return to_device ? cudaMemcpyHostToDevice : cudaMemcpyHostToHost;
}

// Pinned memory may play the device's side: it is mapped into the device.
bool side_fits(bool device_wanted, const std::optional<memory::Block>& block) {
  return !device_wanted || block.has_value();
}

std::int64_t copy_duration_ns(cudaMemcpyKind kind, std::size_t bytes) {
  const Script& speeds = script();
  double bandwidth = speeds.device_to_device;
  if (kind == cudaMemcpyHostToDevice) {
    bandwidth = speeds.host_to_device;
  } else if (kind == cudaMemcpyDeviceToHost) {
    bandwidth = speeds.device_to_host;
  }
  return speeds.copy_latency_ns +
         static_cast<std::int64_t>(static_cast<double>(bytes) / bandwidth * 1e9);
}

MemorySide side_of(const std::optional<memory::Block>& block) {
  if (!block) {
    return MemorySide::pageable;
  }
  switch (block->kind) {
    case memory::Kind::device:
      return MemorySide::device;
    case memory::Kind::managed:
      return MemorySide::managed;
    case memory::Kind::pinned:
    case memory::Kind::registered:
      return MemorySide::pinned;
  }
  return MemorySide::unknown;
}

int device_of(const std::optional<memory::Block>& block) {
  return on_device(block) ? block->device : -1;
}

void copy_rows(const Copy& copy) {
  for (std::size_t row = 0; row < copy.rows; ++row) {
    std::memmove(static_cast<char*>(copy.to) + row * copy.to_pitch,
                 static_cast<const char*>(copy.from) + row * copy.from_pitch, copy.width_bytes);
  }
}

void fill_rows(const Fill& fill) {
  for (std::size_t row = 0; row < fill.rows; ++row) {
    std::memset(static_cast<char*>(fill.to) + row * fill.pitch, fill.value, fill.width_bytes);
  }
}

}  // namespace

cudaError_t copy_work(const Copy& copy, Work& work, bool& waits) {
  work.kind = WorkKind::copy;
  work.bytes = copy.width_bytes * copy.rows;
  work.address = reinterpret_cast<std::uint64_t>(copy.to);
  work.copy_kind = copy.kind;
  waits = false;
  if (copy.kind < cudaMemcpyHostToHost || copy.kind > cudaMemcpyDefault) {
    return cudaErrorInvalidMemcpyDirection;
  }
  if (work.bytes == 0) {
    work.kind = WorkKind::marker;
    return cudaSuccess;
  }
  if (copy.to == nullptr || copy.from == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (copy.rows > 1 && (copy.width_bytes > copy.to_pitch || copy.width_bytes > copy.from_pitch)) {
    return cudaErrorInvalidPitchValue;
  }
  const auto to = memory::find(copy.to);
  const auto from = memory::find(copy.from);
  const bool named = copy.kind != cudaMemcpyDefault;
  const bool to_device =
      named ? copy.kind == cudaMemcpyHostToDevice || copy.kind == cudaMemcpyDeviceToDevice
            : on_device(to);
  const bool from_device =
      named ? copy.kind == cudaMemcpyDeviceToHost || copy.kind == cudaMemcpyDeviceToDevice
            : on_device(from);
  const bool bounded =
      (!to || memory::covers(copy.to, span(copy.width_bytes, copy.rows, copy.to_pitch))) &&
      (!from || memory::covers(copy.from, span(copy.width_bytes, copy.rows, copy.from_pitch)));
  if (!side_fits(to_device, to) || !side_fits(from_device, from) || !bounded) {
    return cudaErrorInvalidValue;
  }
  const cudaMemcpyKind kind = actual_kind(from_device, to_device);
  work.copy_kind = kind;
  work.from = side_of(from);
  work.to = side_of(to);
  work.from_device = device_of(from);
  work.to_device = device_of(to);
  work.duration_ns = copy_duration_ns(kind, work.bytes);
  work.effect = [copy] { copy_rows(copy); };
  waits = (kind == cudaMemcpyDeviceToHost && !to) || kind == cudaMemcpyHostToHost;
  return cudaSuccess;
}

cudaError_t fill_work(const Fill& fill, Work& work) {
  work.kind = WorkKind::set;
  work.bytes = fill.width_bytes * fill.rows;
  work.address = reinterpret_cast<std::uint64_t>(fill.to);
  if (work.bytes == 0) {
    work.kind = WorkKind::marker;
    return cudaSuccess;
  }
  if (!memory::covers(fill.to, span(fill.width_bytes, fill.rows, fill.pitch))) {
    return cudaErrorInvalidValue;
  }
  const auto to = memory::find(fill.to);
  work.set_value = static_cast<std::uint32_t>(fill.value);
  work.to = side_of(to);
  work.to_device = device_of(to);
  work.duration_ns = copy_duration_ns(cudaMemcpyDeviceToDevice, work.bytes);
  work.effect = [fill] { fill_rows(fill); };
  return cudaSuccess;
}

}  // namespace simgpu::cudart
