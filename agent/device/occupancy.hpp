#pragma once
// How full a kernel keeps the device's multiprocessors.

#include <array>
#include <cstdint>

namespace traceagent::device {

// What the driver says of a device. 0: unknown.
struct DeviceShape {
  std::int32_t multiprocessors = 0;
  std::int32_t warp_size = 0;
  std::int32_t compute_major = 0;
  std::int32_t compute_minor = 0;
  // Of one multiprocessor.
  std::int32_t threads = 0;
  std::int32_t blocks = 0;
  std::int32_t registers = 0;
  std::int32_t shared_bytes = 0;
  // What the driver keeps of each block's shared memory for itself.
  std::int32_t reserved_shared_bytes = 0;
};

struct LaunchShape {
  std::array<std::int32_t, 3> grid{};
  std::array<std::int32_t, 3> block{};
  std::int32_t registers_per_thread = 0;
  std::int64_t shared_bytes = 0;  // of a block, static and dynamic
};

struct Occupancy {
  double blocks_per_sm = 0;  // of the whole grid, which need not be there at once
  double warps_per_sm = 0;
  std::int32_t percent = -1;  // of the threads that a multiprocessor can hold; -1: unknown
};

// Blocks that a multiprocessor can hold at once, by its warps, blocks, registers and shared memory;
// at least one, since the kernel did run. 0: not enough is known of the device.
std::int32_t blocks_at_once(const DeviceShape& device, const LaunchShape& launch) noexcept;

// As Kineto estimates it: the grid spread evenly, up to what is there at once. Zeros where the
// device is unknown.
Occupancy occupancy(const DeviceShape& device, const LaunchShape& launch) noexcept;

}  // namespace traceagent::device
