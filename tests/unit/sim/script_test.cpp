#include "tests/sim/engine/script.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "tests/unit/sim/truth_records.hpp"

namespace traceagent::sim_test {
namespace {

simgpu::Script read(const std::string& text, int rank = 0) {
  const std::string path = scratch() / "script.yaml";
  std::ofstream(path) << text;
  return simgpu::read_script(path, rank);
}

std::string problem_with(const std::string& text) {
  try {
    read(text);
  } catch (const std::exception& problem) {
    return problem.what();
  }
  return "";
}

TEST(Script, SpeedsHaveUnits) {
  const auto script = read(
      "devices: 2\n"
      "device_memory: 1GiB\n"
      "kernels: {default: 7us, 'gemm*': 1.5ms}\n"
      "copies: {latency: 2us, host_to_device: 10GB/s}\n"
      "nccl: {latency: 100ns, bandwidth: 500MB/s}\n");
  EXPECT_EQ(script.devices, 2);
  EXPECT_EQ(script.device_memory_bytes, std::uint64_t{1} << 30);
  EXPECT_EQ(script.kernel_duration_ns("other"), 7'000);
  EXPECT_EQ(script.kernel_duration_ns("gemm_nt"), 1'500'000);
  EXPECT_EQ(script.copy_latency_ns, 2'000);
  EXPECT_DOUBLE_EQ(script.host_to_device, 10e9);
  EXPECT_EQ(script.nccl_latency_ns, 100);
  EXPECT_DOUBLE_EQ(script.nccl_bandwidth, 500e6);
}

TEST(Script, FaultsConcernTheirRank) {
  const std::string text =
      "faults:\n"
      "  - slow_rank: {rank: 2, factor: 3}\n"
      "  - never_arrives: {rank: 1, from_collective: 20}\n"
      "  - differs: {rank: 1, collective: 5}\n"
      "  - skewed_clock: {rank: 2, offset: 5ms}\n"
      "  - slow_link: {ranks: [0, 1], factor: 10}\n"
      "  - error: {function: cudaMalloc, call: 3, code: 2}\n";
  const auto one = read(text, 1);
  EXPECT_DOUBLE_EQ(one.slow_factor, 1);
  EXPECT_EQ(one.never_arrives_from, 20);
  EXPECT_EQ(one.differs_at, 5);
  EXPECT_EQ(one.clock_offset_ns, 0);
  EXPECT_DOUBLE_EQ(one.link_factor(1, 0), 10);
  EXPECT_DOUBLE_EQ(one.link_factor(1, 2), 1);
  ASSERT_EQ(one.errors.size(), 1U);
  EXPECT_EQ(one.errors[0].function, "cudaMalloc");
  EXPECT_EQ(one.errors[0].call, 3U);
  const auto two = read(text, 2);
  EXPECT_EQ(two.kernel_duration_ns("any"), 30'000);
  EXPECT_EQ(two.never_arrives_from, -1);
  EXPECT_EQ(two.clock_offset_ns, 5'000'000);
}

TEST(Script, MistakesAreNamed) {
  EXPECT_NE(problem_with("devces: 2\n").find("unknown key: devces"), std::string::npos);
  EXPECT_NE(problem_with("faults: [{slow_rnk: {}}]\n").find("slow_rnk"), std::string::npos);
  EXPECT_NE(problem_with("kernels: {default: 3 weeks}\n").find("3 weeks"), std::string::npos);
  EXPECT_EQ(problem_with("devices: 2\n"), "");
}

}  // namespace
}  // namespace traceagent::sim_test
