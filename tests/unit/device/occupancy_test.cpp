#include "agent/device/occupancy.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <string>

// The toolkit's own calculation, to compare with.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <cuda_occupancy.h>
#pragma GCC diagnostic pop

namespace traceagent::device {
namespace {

struct Device {
  const char* name;
  DeviceShape shape;
  int shared_per_block, shared_per_block_optin;
};

// Multiprocessors, warp, compute capability, then threads, blocks, registers and shared memory of a
// multiprocessor, and what is reserved of a block's: as their drivers say.
constexpr Device devices[] = {
    {"P100", {56, 32, 6, 0, 2048, 32, 65536, 65536, 0}, 49152, 49152},
    {"V100", {80, 32, 7, 0, 2048, 32, 65536, 98304, 0}, 49152, 98304},
    {"T4", {40, 32, 7, 5, 1024, 16, 65536, 65536, 0}, 49152, 65536},
    {"A100", {108, 32, 8, 0, 2048, 32, 65536, 167936, 1024}, 49152, 166912},
    {"A10", {72, 32, 8, 6, 1536, 16, 65536, 102400, 1024}, 49152, 101376},
    {"L40", {142, 32, 8, 9, 1536, 24, 65536, 102400, 1024}, 49152, 101376},
    {"H100", {132, 32, 9, 0, 2048, 32, 65536, 233472, 1024}, 49152, 232448},
    {"B200", {148, 32, 10, 0, 2048, 32, 65536, 233472, 1024}, 49152, 232448},
    {"RTX 5090", {170, 32, 12, 0, 1536, 24, 65536, 102400, 1024}, 49152, 101376},
};

cudaOccDeviceProp properties_of(const Device& device) {
  cudaOccDeviceProp properties;
  properties.computeMajor = device.shape.compute_major;
  properties.computeMinor = device.shape.compute_minor;
  properties.maxThreadsPerBlock = 1024;
  properties.maxThreadsPerMultiprocessor = device.shape.threads;
  properties.regsPerBlock = 65536;
  properties.regsPerMultiprocessor = device.shape.registers;
  properties.warpSize = device.shape.warp_size;
  properties.sharedMemPerBlock = static_cast<std::size_t>(device.shared_per_block);
  properties.sharedMemPerMultiprocessor = static_cast<std::size_t>(device.shape.shared_bytes);
  properties.numSms = device.shape.multiprocessors;
  properties.sharedMemPerBlockOptin = static_cast<std::size_t>(device.shared_per_block_optin);
  properties.reservedSharedMemPerBlock =
      static_cast<std::size_t>(device.shape.reserved_shared_bytes);
  return properties;
}

// 0: such a kernel cannot run there.
int blocks_by_toolkit(const Device& device, int threads, int registers, int shared_bytes) {
  const cudaOccDeviceProp properties = properties_of(device);
  cudaOccFuncAttributes kernel;
  kernel.maxThreadsPerBlock = INT_MAX;
  kernel.numRegs = registers;
  kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  kernel.maxDynamicSharedSizeBytes = static_cast<std::size_t>(shared_bytes);
  kernel.numBlockBarriers = 1;
  const cudaOccDeviceState state;
  cudaOccResult result{};
  EXPECT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&result, &properties, &kernel, &state, threads,
                                                    static_cast<std::size_t>(shared_bytes)),
            CUDA_OCC_SUCCESS)
      << device.name;
  return result.activeBlocksPerMultiprocessor;
}

LaunchShape launch(int threads, int registers, int shared_bytes, int blocks = 1) {
  return {{blocks, 1, 1}, {threads, 1, 1}, registers, shared_bytes};
}

TEST(OccupancyTest, blocks_at_once_are_those_of_the_toolkits_calculator) {
  int compared = 0;
  for (const Device& device : devices) {
    for (int threads = 1; threads <= 1024; threads += threads < 96 ? 5 : 31) {
      for (int registers = 0; registers <= 255; registers += 3) {
        for (const int shared_bytes : {0, 1, 1000, 4096, 6500, 16384, 24576, 33000, 49152, 65536}) {
          if (shared_bytes > device.shared_per_block_optin) continue;
          const int expected = blocks_by_toolkit(device, threads, registers, shared_bytes);
          if (expected == 0) continue;
          ++compared;
          ASSERT_EQ(blocks_at_once(device.shape, launch(threads, registers, shared_bytes)),
                    expected)
              << device.name << ": " << threads << " threads, " << registers << " registers, "
              << shared_bytes << " bytes";
        }
      }
    }
  }
  EXPECT_GT(compared, 100'000);
}

const DeviceShape& h100() { return devices[6].shape; }

// Whole shared memory of a multiprocessor for one block, as flash attention takes it.
TEST(OccupancyTest, a_block_that_opted_in_to_all_shared_memory) {
  EXPECT_EQ(blocks_at_once(h100(), launch(128, 64, 232448)), 1);
  EXPECT_EQ(blocks_by_toolkit(devices[6], 128, 64, 232448), 1);
  EXPECT_EQ(blocks_at_once(h100(), launch(128, 64, 115712)), 2);
  EXPECT_EQ(blocks_at_once(h100(), launch(128, 64, 115713)), 1);
}

TEST(OccupancyTest, a_large_grid_reaches_what_fits_at_once) {
  const Occupancy found = occupancy(h100(), launch(256, 32, 0, 132 * 100));
  EXPECT_DOUBLE_EQ(found.blocks_per_sm, 100);
  EXPECT_DOUBLE_EQ(found.warps_per_sm, 800);
  EXPECT_EQ(found.percent, 100);
  // 128 registers: 65,536 / 4 / 4,096 = 4 warps in each of four parts, which is two blocks of 8.
  EXPECT_EQ(occupancy(h100(), launch(256, 128, 0, 132 * 100)).percent, 25);
}

TEST(OccupancyTest, a_small_grid_reaches_what_it_has) {
  EXPECT_EQ(occupancy(h100(), launch(256, 32, 0, 66)).percent, 6);     // 128 of 2,048
  EXPECT_EQ(occupancy(h100(), launch(1024, 32, 0, 132)).percent, 50);  // one block
  EXPECT_EQ(occupancy(h100(), launch(32, 32, 0, 1)).percent, 0);
}

TEST(OccupancyTest, what_is_not_known_is_not_said) {
  EXPECT_EQ(occupancy({108, 32}, launch(256, 32, 0)).percent, -1);
  EXPECT_DOUBLE_EQ(occupancy({108, 32}, launch(256, 32, 0, 216)).blocks_per_sm, 2);
  EXPECT_EQ(occupancy({}, launch(256, 32, 0)).blocks_per_sm, 0);
  // A driver before CUDA 11 does not say how many blocks, nor what it keeps.
  DeviceShape old = devices[1].shape;
  old.blocks = 0;
  EXPECT_EQ(blocks_at_once(old, launch(64, 32, 0)), 32);
}

TEST(OccupancyTest, a_damaged_record_is_no_occupancy) {
  LaunchShape damaged = launch(256, 32, 0);
  damaged.block = {INT32_MAX, INT32_MAX, INT32_MAX};
  damaged.grid = {INT32_MAX, INT32_MAX, INT32_MAX};
  EXPECT_EQ(occupancy(h100(), damaged).percent, -1);
  EXPECT_LE(occupancy(h100(), damaged).warps_per_sm, 1e15);
  damaged.block = {-1, 1, 1};
  EXPECT_EQ(occupancy(h100(), damaged).percent, -1);
  damaged = {{1, 1, 1}, {256, 1, 1}, INT32_MAX, INT64_MIN / 2};
  EXPECT_GE(occupancy(h100(), damaged).percent, 0);
}

}  // namespace
}  // namespace traceagent::device
