#pragma once
// The few things asked of the CUDA driver that the job has loaded: never loaded or initialised by
// us, since a process that forks before its first CUDA call must stay able to use CUDA in its
// children.

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/device/loaded_paths.hpp"
#include "agent/device/occupancy.hpp"

namespace traceagent::device {

class CudaDriver {
 public:
  // Binds to libcuda.so.1 if it is loaded by now.
  void look(LookUp look_up) noexcept;
  bool is_loaded() const noexcept { return get_count_ != nullptr; }
  // cuInit has been called by somebody, and worked.
  bool is_initialised() const noexcept;
  int cuda_major() const noexcept;  // that the driver supports; 0: unknown

  // One bit for each of the first 64 devices on which a primary context lives.
  std::uint64_t devices_in_use() const noexcept;
  DeviceShape shape(int device) const noexcept;
  // Kineto's deviceProperties of the devices in `devices`: a JSON array, "" if nothing is known.
  // At most 4,000 bytes, whole entries: more do not fit into one name of the ring.
  std::string properties_json(std::uint64_t devices) const;

 private:
  using Result = int;
  std::int64_t attribute(int device, int number) const noexcept;
  std::string properties_of(int number) const;

  Result (*get_version_)(int*) = nullptr;
  Result (*get_count_)(int*) = nullptr;
  Result (*get_device_)(int*, int) = nullptr;
  Result (*get_name_)(char*, int, int) = nullptr;
  Result (*get_memory_)(std::size_t*, int) = nullptr;
  Result (*get_attribute_)(int*, int, int) = nullptr;
  Result (*get_primary_state_)(int, unsigned*, int*) = nullptr;
};

}  // namespace traceagent::device
