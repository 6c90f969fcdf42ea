// CUDA's occupancy calculation: "CUDA C++ Programming Guide", section "Compute Capabilities", table
// "Technical Specifications per Compute Capability", gives what a multiprocessor has; "CUDA C++
// Best Practices Guide", section "Calculating Occupancy", and "Nsight Compute", "Occupancy
// Calculator", give the units in which it is handed out. The driver is asked for the former; the
// latter are here.

#include "agent/device/occupancy.hpp"

#include <algorithm>

namespace traceagent::device {
namespace {

// Registers are handed out to warps, in this unit.
constexpr std::int64_t register_unit = 256;

// A warp's registers lie in one of these parts of a multiprocessor.
std::int64_t register_files(const DeviceShape& device) noexcept {
  return device.compute_major == 6 && device.compute_minor == 0 ? 2 : 4;
}

std::int64_t shared_memory_unit(const DeviceShape& device) noexcept {
  return device.compute_major >= 8 ? 128 : 256;
}

std::int64_t round_up(std::int64_t value, std::int64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

// Far beyond any launch: what a damaged record says must not overflow where it is made a number.
double bounded(double value) noexcept { return std::clamp(value, 0.0, 1e15); }

double product(const std::array<std::int32_t, 3>& sizes) noexcept {
  return bounded(1.0 * sizes[0] * sizes[1] * sizes[2]);
}

std::int64_t warps_of_block(const DeviceShape& device, double threads) noexcept {
  return (static_cast<std::int64_t>(threads) + device.warp_size - 1) / device.warp_size;
}

std::int64_t blocks_by_registers(const DeviceShape& device, const LaunchShape& launch,
                                 std::int64_t warps) noexcept {
  const std::int64_t per_warp =
      round_up(std::int64_t{launch.registers_per_thread} * device.warp_size, register_unit);
  if (per_warp == 0) return INT32_MAX;
  const std::int64_t files = register_files(device);
  return device.registers / files / per_warp * files / warps;
}

std::int64_t blocks_by_shared_memory(const DeviceShape& device,
                                     const LaunchShape& launch) noexcept {
  const std::int64_t per_block =
      round_up(launch.shared_bytes + device.reserved_shared_bytes, shared_memory_unit(device));
  return per_block > 0 ? device.shared_bytes / per_block : INT32_MAX;
}

bool is_known(const DeviceShape& device) noexcept {
  return device.warp_size > 0 && device.compute_major > 0 && device.threads > 0 &&
         device.registers > 0 && device.shared_bytes > 0;
}

}  // namespace

std::int32_t blocks_at_once(const DeviceShape& device, const LaunchShape& launch) noexcept {
  // No block has more threads; what says so is a damaged record.
  constexpr double most_threads = 1 << 16;
  const double threads = product(launch.block);
  if (!is_known(device) || threads < 1 || threads > most_threads) return 0;
  const std::int64_t warps = warps_of_block(device, threads);
  std::int64_t blocks = device.threads / device.warp_size / warps;
  // Drivers before CUDA 11 do not tell.
  if (device.blocks > 0) blocks = std::min<std::int64_t>(blocks, device.blocks);
  blocks = std::min(blocks, blocks_by_registers(device, launch, warps));
  blocks = std::min(blocks, blocks_by_shared_memory(device, launch));
  return static_cast<std::int32_t>(std::max<std::int64_t>(blocks, 1));
}

Occupancy occupancy(const DeviceShape& device, const LaunchShape& launch) noexcept {
  if (device.multiprocessors <= 0 || device.warp_size <= 0) return {};
  const double threads = product(launch.block);
  Occupancy found;
  found.blocks_per_sm = product(launch.grid) / device.multiprocessors;
  found.warps_per_sm = bounded(found.blocks_per_sm * threads / device.warp_size);
  const std::int32_t at_once = blocks_at_once(device, launch);
  if (at_once == 0) return found;
  const double blocks = std::min<double>(at_once, found.blocks_per_sm);
  const double percent = 100.0 * blocks * threads / device.threads;
  found.percent = static_cast<std::int32_t>(std::clamp(percent + 0.5, 0.0, 100.0));
  return found;
}

}  // namespace traceagent::device
