#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "tests/programs/kernel.hpp"
#include "tests/sim/cudart/functions.hpp"
#include "tests/unit/sim/cupti_client.hpp"

namespace traceagent::sim_test {
namespace {

using simgpu::CuptiState;
using simgpu::Record;
using simgpu::RecordKind;
using simgpu::WorkKind;
using Number = simgpu::cudart::Number;

const programs::Kernel kernel("_Z12cupti_kernelPfi");

const std::vector<CUpti_ActivityKind> usual = {
    CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET,
    CUPTI_ACTIVITY_KIND_RUNTIME};

std::vector<const Record*> device_lines(const TruthRecords& truth, WorkKind kind) {
  return truth.select(
      [=](const Record& r) { return r.kind == RecordKind::device && r.work == kind; });
}

template <class Activity>
void expect_same(const Activity& seen, const Record& truth) {
  EXPECT_EQ(seen.start, static_cast<std::uint64_t>(truth.begin_ns));
  EXPECT_EQ(seen.end, static_cast<std::uint64_t>(truth.kernel_end_ns));
  EXPECT_EQ(seen.correlationId, truth.correlation);
  EXPECT_EQ(seen.streamId, truth.stream_id);
  EXPECT_EQ(seen.contextId, truth.context);
  EXPECT_EQ(seen.deviceId, static_cast<std::uint32_t>(truth.device));
}

TEST(CuptiRecords, AgreeWithTheTruth) {
  in_own_process("records", "", [] {
    CuptiClient client;
    ASSERT_EQ(client.subscribe(), CUPTI_SUCCESS);
    client.start(usual);
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    void* memory = nullptr;
    std::vector<char> host(1 << 20);
    cudaMalloc(&memory, host.size());
    cudaMemcpyAsync(memory, host.data(), host.size(), cudaMemcpyHostToDevice, stream);
    cudaMemsetAsync(memory, 7, 4096, stream);
    for (int i = 0; i < 1000; ++i) {
      kernel.launch(i % 2 == 0 ? stream : nullptr, 3, 64);
    }
    cudaDeviceSynchronize();
    client.flush();

    const TruthRecords truth(scratch() / "records.truth");
    const auto kernels = client.seen(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    const auto lines = device_lines(truth, WorkKind::kernel);
    ASSERT_EQ(kernels.size(), 1000U);
    ASSERT_EQ(lines.size(), 1000U);
    std::map<std::uint32_t, const Record*> by_correlation;
    for (const Record* line : lines) {
      EXPECT_EQ(line->cupti.load(), CuptiState::delivered);
      by_correlation[line->correlation] = line;
    }
    for (const Seen& seen : kernels) {
      const auto record = seen.as<CUpti_ActivityKernel10>();
      ASSERT_TRUE(by_correlation.contains(record.correlationId));
      expect_same(record, *by_correlation[record.correlationId]);
      EXPECT_STREQ(record.name, "_Z12cupti_kernelPfi");
      EXPECT_EQ(record.gridX, 3);
      EXPECT_EQ(record.blockX, 64);
      EXPECT_EQ(record.registersPerThread, lines[0]->registers);
      EXPECT_GE(record.registersPerThread, 16);
      EXPECT_EQ(record.queued, 0U);
    }
    const auto copies = client.seen(CUPTI_ACTIVITY_KIND_MEMCPY);
    ASSERT_EQ(copies.size(), 1U);
    const auto copy = copies[0].as<CUpti_ActivityMemcpy6>();
    expect_same(copy, *device_lines(truth, WorkKind::copy).at(0));
    EXPECT_EQ(copy.bytes, host.size());
    EXPECT_EQ(copy.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_HTOD);
    EXPECT_EQ(copy.srcKind, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE);
    EXPECT_EQ(copy.dstKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
    const auto sets = client.seen(CUPTI_ACTIVITY_KIND_MEMSET);
    ASSERT_EQ(sets.size(), 1U);
    const auto set = sets[0].as<CUpti_ActivityMemset4>();
    expect_same(set, *device_lines(truth, WorkKind::set).at(0));
    EXPECT_EQ(set.value, 7U);
    EXPECT_EQ(set.bytes, 4096U);
  });
}

TEST(CuptiRecords, CallsHaveTheCorrelationOfTheirWork) {
  in_own_process("calls", "", [] {
    CuptiClient client;
    client.start(usual);
    for (int i = 0; i < 50; ++i) {
      kernel.launch(nullptr);
    }
    cudaDeviceSynchronize();
    client.flush();
    const TruthRecords truth(scratch() / "calls.truth");
    std::map<std::uint32_t, CUpti_ActivityAPI> launches;
    int others = 0;
    for (const Seen& seen : client.seen(CUPTI_ACTIVITY_KIND_RUNTIME)) {
      const auto call = seen.as<CUpti_ActivityAPI>();
      EXPECT_EQ(call.processId, static_cast<std::uint32_t>(getpid()));
      EXPECT_EQ(call.threadId, static_cast<std::uint32_t>(gettid()));
      EXPECT_EQ(call.returnValue, 0U);
      if (call.cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000) {
        launches[call.correlationId] = call;
      } else {
        EXPECT_EQ(call.cbid, CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020);
        ++others;
      }
    }
    EXPECT_EQ(others, 1);
    ASSERT_EQ(launches.size(), 50U);
    std::map<std::uint64_t, const Record*> calls;  // by number
    for (const Record* call : truth.select([](const Record& r) {
           return r.kind == RecordKind::call && r.function == Number::cudaLaunchKernel;
         })) {
      calls[call->number] = call;
    }
    for (const Record* line : device_lines(truth, WorkKind::kernel)) {
      ASSERT_TRUE(launches.contains(line->correlation));
      const CUpti_ActivityAPI& api = launches[line->correlation];
      const Record& call = *calls.at(line->number);
      EXPECT_EQ(api.start, static_cast<std::uint64_t>(call.begin_ns));
      EXPECT_EQ(api.end, static_cast<std::uint64_t>(call.end_ns));
    }
  });
}

TEST(CuptiRecords, OlderMajorsWriteShorterOnes) {
  const std::map<std::string, std::size_t> kernel_bytes = {{"13", sizeof(CUpti_ActivityKernel10)},
                                                           {"12", sizeof(CUpti_ActivityKernel9)},
                                                           {"11.8", sizeof(CUpti_ActivityKernel8)}};
  const std::map<std::string, std::uint32_t> versions = {{"13", 130001}, {"12", 22}, {"11.8", 18}};
  for (const auto& [version, bytes] : kernel_bytes) {
    in_own_process("major" + version, "", [&, version = version, bytes = bytes] {
      CuptiClient client(version);
      std::uint32_t said = 0;
      client.call<std::uint32_t*>("cuptiGetVersion", &said);
      EXPECT_EQ(said, versions.at(version));
      EXPECT_EQ(client.has("cuptiSubscribe_v2"), version == "13");
      EXPECT_EQ(client.has("cuptiActivityEnableRuntimeApi"), version != "11.8");
      client.start({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL});
      kernel.launch(nullptr);
      kernel.launch(nullptr, 9);
      cudaDeviceSynchronize();
      client.flush();
      const auto kernels = client.seen(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
      ASSERT_EQ(kernels.size(), 2U);
      EXPECT_EQ(kernels[1].bytes.size(), bytes);
      EXPECT_EQ(kernels[0].bytes.size(), std::min<std::size_t>(2 * bytes, 256));
      EXPECT_EQ(kernels[1].as<CUpti_ActivityKernel10>().gridX, 9);
    });
  }
}

}  // namespace
}  // namespace traceagent::sim_test
