#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "tests/programs/kernel.hpp"
#include "tests/sim/nccl/functions.hpp"
#include "tests/unit/sim/cupti_client.hpp"
#include "tests/unit/sim/two_ranks.hpp"

namespace traceagent::sim_test {
namespace {

using simgpu::Record;
using simgpu::RecordKind;
using simgpu::WorkKind;

const programs::Kernel kernel("kinds_kernel");

constexpr auto kernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

template <class Activity>
std::vector<Activity> records_of(CuptiClient& client, CUpti_ActivityKind kind) {
  std::vector<Activity> records;
  for (const Seen& seen : client.seen(kind)) {
    records.push_back(seen.as<Activity>());
  }
  std::sort(records.begin(), records.end(),
            [](const Activity& a, const Activity& b) { return a.start < b.start; });
  return records;
}

TEST(CuptiKinds, SingleFunctionsOfTheRuntime) {
  in_own_process("functions", "", [] {
    CuptiClient client;
    client.start({});
    client.call<CUpti_CallbackId, std::uint8_t>("cuptiActivityEnableRuntimeApi",
                                                CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 1);
    kernel.launch(nullptr);
    cudaDeviceSynchronize();
    client.call<CUpti_CallbackId, std::uint8_t>("cuptiActivityEnableRuntimeApi",
                                                CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 0);
    kernel.launch(nullptr);
    client.flush();
    EXPECT_EQ(client.seen(CUPTI_ACTIVITY_KIND_RUNTIME).size(), 1U);
    const char* name = nullptr;
    client.call<CUpti_CallbackDomain, std::uint32_t, const char**>(
        "cuptiGetCallbackName", CUPTI_CB_DOMAIN_RUNTIME_API,
        CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, &name);
    EXPECT_STREQ(name, "cudaLaunchKernel_v7000");
  });
}

// What CUPTI 130001 does on an H100.
TEST(CuptiKinds, SingleFunctionsOfAContextThatIsThere) {
  in_own_process("late_functions", "", [] {
    constexpr auto launch = CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000;
    CuptiClient client;
    const auto choose = [&](std::uint8_t on) {
      EXPECT_EQ((client.call<CUpti_CallbackId, std::uint8_t>("cuptiActivityEnableRuntimeApi",
                                                             launch, on)),
                CUPTI_SUCCESS);
    };
    const auto records_of_a_launch = [&] {
      const std::size_t before = client.seen(CUPTI_ACTIVITY_KIND_RUNTIME).size();
      kernel.launch(nullptr);
      client.flush();
      return client.seen(CUPTI_ACTIVITY_KIND_RUNTIME).size() - before;
    };
    kernel.launch(nullptr);
    client.start({});
    choose(1);
    EXPECT_EQ(records_of_a_launch(), 0U) << "chosen, without the kind";
    client.start({CUPTI_ACTIVITY_KIND_RUNTIME});
    EXPECT_EQ(records_of_a_launch(), 1U) << "the kind";
    choose(0);
    EXPECT_EQ(records_of_a_launch(), 0U) << "the kind without it";
    client.start({CUPTI_ACTIVITY_KIND_RUNTIME});
    EXPECT_EQ(records_of_a_launch(), 1U) << "the kind forgets what was left out";
    client.call("cuptiActivityDisable", CUPTI_ACTIVITY_KIND_RUNTIME);
    choose(1);
    EXPECT_EQ(records_of_a_launch(), 0U) << "chosen, the kind having been on";
  });
}

TEST(CuptiKinds, ExternalCorrelationComesBeforeTheCall) {
  in_own_process("external", "", [] {
    CuptiClient client;
    client.start({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
    client.call<CUpti_ExternalCorrelationKind, std::uint64_t>(
        "cuptiActivityPushExternalCorrelationId", CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 77);
    cudaDeviceSynchronize();
    std::uint64_t last = 0;
    const auto pop = [&] {
      return client.call<CUpti_ExternalCorrelationKind, std::uint64_t*>(
          "cuptiActivityPopExternalCorrelationId", CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
    };
    EXPECT_EQ(pop(), CUPTI_SUCCESS);
    EXPECT_EQ(last, 77U);
    EXPECT_EQ(pop(), CUPTI_ERROR_QUEUE_EMPTY);
    cudaDeviceSynchronize();
    client.flush();
    const auto external = client.seen(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
    ASSERT_EQ(external.size(), 1U);
    const auto record = external[0].as<CUpti_ActivityExternalCorrelation>();
    EXPECT_EQ(record.externalId, 77U);
    const auto calls = records_of<CUpti_ActivityAPI>(client, CUPTI_ACTIVITY_KIND_RUNTIME);
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(record.correlationId, calls[0].correlationId);
  });
}

TEST(CuptiKinds, WaitsMemoryStreamsAndContexts) {
  in_own_process("host_kinds", "", [] {
    CuptiClient client;
    client.start({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_MEMORY2,
                  CUPTI_ACTIVITY_KIND_STREAM, CUPTI_ACTIVITY_KIND_CONTEXT,
                  CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_OVERHEAD});
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -3);
    void* memory = nullptr;
    cudaMalloc(&memory, 5000);
    kernel.launch(stream);
    cudaStreamSynchronize(stream);
    cudaDeviceSynchronize();
    cudaFree(memory);
    client.flush();
    client.flush();  // delivers what the first one cost
    const auto waits =
        records_of<CUpti_ActivitySynchronization2>(client, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
    ASSERT_EQ(waits.size(), 2U);
    std::uint32_t id = 0;
    client.call<CUcontext, CUstream, std::uint8_t, std::uint32_t*>(
        "cuptiGetStreamIdEx", nullptr, reinterpret_cast<CUstream>(stream), 0, &id);
    EXPECT_EQ(waits[0].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE);
    EXPECT_EQ(waits[0].streamId, id);
    EXPECT_EQ(waits[1].type, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE);
    EXPECT_EQ(waits[1].contextId, 1U);
    const auto blocks = client.seen(CUPTI_ACTIVITY_KIND_MEMORY2);
    ASSERT_EQ(blocks.size(), 2U);
    EXPECT_EQ(blocks[0].as<CUpti_ActivityMemory4>().bytes, 5000U);
    EXPECT_EQ(blocks[0].as<CUpti_ActivityMemory4>().address,
              reinterpret_cast<std::uint64_t>(memory));
    EXPECT_EQ(blocks[1].as<CUpti_ActivityMemory4>().memoryOperationType,
              CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
    const auto streams = client.seen(CUPTI_ACTIVITY_KIND_STREAM);
    ASSERT_EQ(streams.size(), 1U);
    EXPECT_EQ(streams[0].as<CUpti_ActivityStream>().streamId, id);
    EXPECT_EQ(static_cast<int>(streams[0].as<CUpti_ActivityStream>().priority), -3);
    EXPECT_EQ(client.seen(CUPTI_ACTIVITY_KIND_CONTEXT).size(), 1U);
    EXPECT_EQ(client.seen(CUPTI_ACTIVITY_KIND_DEVICE).size(), 8U);
    EXPECT_EQ(client.seen(CUPTI_ACTIVITY_KIND_OVERHEAD).size(), 1U);
  });
}

TEST(CuptiKinds, PeerCopiesNameBothDevices) {
  in_own_process("peer", "", [] {
    CuptiClient client;
    client.start({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2});
    void* here = nullptr;
    void* there = nullptr;
    cudaMalloc(&here, 4096);
    cudaSetDevice(2);
    cudaMalloc(&there, 4096);
    cudaSetDevice(0);
    cudaMemcpyPeer(there, 2, here, 0, 4096);
    client.flush();
    EXPECT_TRUE(client.seen(CUPTI_ACTIVITY_KIND_MEMCPY).empty());
    const auto copies = client.seen(CUPTI_ACTIVITY_KIND_MEMCPY2);
    ASSERT_EQ(copies.size(), 1U);
    const auto copy = copies[0].as<CUpti_ActivityMemcpyPtoP4>();
    EXPECT_EQ(copy.copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
    EXPECT_EQ(copy.srcDeviceId, 0U);
    EXPECT_EQ(copy.dstDeviceId, 2U);
    EXPECT_EQ(copy.dstContextId, 3U);
    EXPECT_EQ(copy.bytes, 4096U);
  });
}

cudaGraphExec_t three_kernels(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
  for (int i = 0; i < 3; ++i) {
    kernel.launch(stream);
  }
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&exec, graph, 0);
  return exec;
}

TEST(CuptiKinds, NodesOfAGraphAreNumbered) {
  in_own_process("graph", "concurrent: {graphs: true}\nkernels: {default: 1ms}", [] {
    CuptiClient client;
    client.start({kernels, CUPTI_ACTIVITY_KIND_RUNTIME});
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    const cudaGraphExec_t exec = three_kernels(stream);
    cudaGraphLaunch(exec, stream);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    client.flush();
    const auto work = records_of<CUpti_ActivityKernel10>(client, kernels);
    ASSERT_EQ(work.size(), 6U);
    std::set<std::uint64_t> nodes;
    std::set<std::uint32_t> launches;
    for (const auto& each : work) {
      EXPECT_EQ(each.graphId, work[0].graphId);
      EXPECT_NE(each.graphId, 0U);
      nodes.insert(each.graphNodeId);
      launches.insert(each.correlationId);
    }
    EXPECT_EQ(nodes.size(), 3U);
    EXPECT_EQ(launches.size(), 2U);
    EXPECT_LT(work[2].start, work[0].end);  // branches run at once
    EXPECT_GE(work[3].start, work[2].end);  // and the next launch after all of them
    EXPECT_LT(work[2].start - work[0].start, 1'000'000U);
  });
}

TEST(CuptiKinds, GraphsCanBeShownAsOne) {
  in_own_process("graph_trace", "", [] {
    CuptiClient client;
    client.start({kernels, CUPTI_ACTIVITY_KIND_GRAPH_TRACE});
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    const cudaGraphExec_t exec = three_kernels(stream);
    cudaGraphLaunch(exec, stream);
    cudaGraphLaunch(exec, stream);
    cudaStreamSynchronize(stream);
    client.flush();
    EXPECT_TRUE(client.seen(kernels).empty());
    const auto graphs =
        records_of<CUpti_ActivityGraphTrace2>(client, CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
    ASSERT_EQ(graphs.size(), 2U);
    const TruthRecords truth(scratch() / "graph_trace.truth");
    const auto lines = truth.select(
        [](const Record& r) { return r.kind == RecordKind::device && r.work == WorkKind::kernel; });
    ASSERT_EQ(lines.size(), 6U);
    EXPECT_EQ(graphs[0].start, static_cast<std::uint64_t>(lines[0]->begin_ns));
    EXPECT_EQ(graphs[0].end, static_cast<std::uint64_t>(lines[2]->end_ns));
    EXPECT_EQ(graphs[1].end, static_cast<std::uint64_t>(lines[5]->end_ns));
  });
}

TEST(CuptiKinds, KernelsOfOneStreamOverlapWhereTheScriptSaysSo) {
  // So long that all are launched before the first is half over, on a busy machine too.
  in_own_process("overlap", "concurrent: {kernels: 0.5}\nkernels: {default: 200ms}", [] {
    CuptiClient client;
    client.start({kernels});
    for (int i = 0; i < 4; ++i) {
      kernel.launch(nullptr);
    }
    cudaDeviceSynchronize();
    client.flush();
    const auto work = records_of<CUpti_ActivityKernel10>(client, kernels);
    ASSERT_EQ(work.size(), 4U);
    for (std::size_t i = 1; i < work.size(); ++i) {
      EXPECT_EQ(work[i].start, work[i - 1].end - 100'000'000);
      EXPECT_EQ(work[i].streamId, 7U);
    }
  });
}

TEST(CuptiKinds, ClustersAreThoseOfTheLaunch) {
  in_own_process("cluster", "", [] {
    CuptiClient client;
    client.start({kernels});
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = 4;
    attribute.val.clusterDim.y = 2;
    attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = {8, 2, 1};
    config.blockDim = {32, 1, 1};
    config.dynamicSmemBytes = 1000;
    config.attrs = &attribute;
    config.numAttrs = 1;
    ASSERT_EQ(cudaLaunchKernelExC(&config, kernel.host_function(), nullptr), cudaSuccess);
    cudaDeviceSynchronize();
    client.flush();
    const auto work = records_of<CUpti_ActivityKernel10>(client, kernels);
    ASSERT_EQ(work.size(), 1U);
    EXPECT_EQ(work[0].clusterX, 4U);
    EXPECT_EQ(work[0].clusterY, 2U);
    EXPECT_EQ(work[0].dynamicSharedMemory, 1000);
  });
}

TEST(CuptiKinds, AGroupOfCollectivesIsOneKernel) {
  on_each_rank("nccl_kernel", [](int rank, ncclComm_t comm) {
    CuptiClient client;
    client.start({kernels, CUPTI_ACTIVITY_KIND_DRIVER});
    cudaSetDevice(rank);
    cudaStream_t stream = nullptr;
    cudaStreamCreate(&stream);
    void* data = nullptr;
    cudaMalloc(&data, 4096);
    ncclGroupStart();
    for (int i = 0; i < 3; ++i) {
      ncclAllReduce(data, data, 100, ncclFloat, ncclSum, comm, stream);
    }
    ncclGroupEnd();
    cudaStreamSynchronize(stream);
    client.flush();
    const auto work = records_of<CUpti_ActivityKernel10>(client, kernels);
    const auto calls = records_of<CUpti_ActivityAPI>(client, CUPTI_ACTIVITY_KIND_DRIVER);
    const TruthRecords truth(truth_of("nccl_kernel", rank));
    const auto parts = device_work(truth, simgpu::nccl::Number::ncclAllReduce);
    const auto launches = std::count_if(calls.begin(), calls.end(), [&](const auto& call) {
      return call.cbid == CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx && !work.empty() &&
             call.correlationId == work[0].correlationId;
    });
    return work.size() == 1 && parts.size() == 3 && launches == 1 &&
           std::string(work[0].name) ==
               "_Z39ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE" &&
           static_cast<std::int64_t>(work[0].start) == parts[0]->begin_ns &&
           static_cast<std::int64_t>(work[0].end) == parts[2]->kernel_end_ns &&
           work[0].correlationId == parts[1]->correlation;
  });
}

}  // namespace
}  // namespace traceagent::sim_test
