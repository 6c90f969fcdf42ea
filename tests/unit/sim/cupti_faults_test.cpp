#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "tests/programs/kernel.hpp"
#include "tests/sim/engine/clock.hpp"
#include "tests/unit/sim/cupti_client.hpp"

namespace traceagent::sim_test {
namespace {

using simgpu::CuptiState;
using simgpu::Record;
using simgpu::RecordKind;

const programs::Kernel kernel("faulty_kernel");

constexpr auto kernels = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;

std::size_t lines_of(const TruthRecords& truth, CuptiState state) {
  return truth
      .select(
          [=](const Record& r) { return r.kind == RecordKind::device && r.cupti.load() == state; })
      .size();
}

TEST(CuptiFaults, AnotherSubscriberKeepsItForEver) {
  in_own_process("taken", "faults: [cupti_taken: {}]", [] {
    CuptiClient client;
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(client.subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    }
    const TruthRecords truth(scratch() / "taken.truth");
    EXPECT_EQ(truth.cupti(RecordKind::cupti).at(0)->refusals.load(), 3U);
    EXPECT_EQ(truth.cupti(RecordKind::cupti).at(0)->subscriptions.load(), 0U);
  });
}

TEST(CuptiFaults, AnotherSubscriberLeaves) {
  in_own_process("leaves", "faults: [cupti_taken: {attempts: 2}, cupti_taken: {until: 20ms}]", [] {
    CuptiClient client;
    EXPECT_EQ(client.subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    simgpu::sleep_for(25'000'000);
    EXPECT_EQ(client.subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(client.subscribe(), CUPTI_SUCCESS);
  });
}

TEST(CuptiFaults, AnotherSubscriberComes) {
  in_own_process("comes", "faults: [cupti_taken: {from: 1s, rank: 0}]", [] {
    CuptiClient client;
    EXPECT_EQ(client.subscribe(), CUPTI_SUCCESS);
    simgpu::sleep_for(1'100'000'000);
    client.start({kernels});  // who came first keeps it
    EXPECT_EQ(client.call("cuptiUnsubscribe", client.subscriber), CUPTI_SUCCESS);
    EXPECT_EQ(client.subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  });
}

TEST(CuptiFaults, OneSubscriberInAllMajorsTogether) {
  in_own_process("together", "", [] {
    CuptiClient older("12");
    CuptiClient client;
    EXPECT_EQ(older.subscribe(), CUPTI_SUCCESS);
    EXPECT_EQ(client.subscribe(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    EXPECT_EQ(older.call("cuptiUnsubscribe", older.subscriber), CUPTI_SUCCESS);
    EXPECT_EQ(client.subscribe(), CUPTI_SUCCESS);
  });
}

TEST(CuptiFaults, RefusesKindsOfDeviceWork) {
  in_own_process("refused", "faults: [cupti_refused: {}]", [] {
    CuptiClient client;
    EXPECT_EQ(client.call("cuptiActivityEnable", kernels), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    EXPECT_EQ(client.call("cuptiActivityEnable", CUPTI_ACTIVITY_KIND_MEMCPY),
              CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
    EXPECT_EQ(client.call("cuptiActivityEnable", CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_SUCCESS);
    EXPECT_EQ(client.call("cuptiGetLastError"), CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  });
}

TEST(CuptiFaults, DroppedBuffersAreCounted) {
  in_own_process("drops", "faults: [cupti_drops: {share: 0.05}]", [] {
    CuptiClient client("13", 8 << 10);
    client.start({kernels, CUPTI_ACTIVITY_KIND_RUNTIME});
    constexpr std::size_t launches = 3000;
    for (std::size_t i = 0; i < launches; ++i) {
      kernel.launch(nullptr);
    }
    cudaDeviceSynchronize();
    client.flush();
    const std::size_t dropped = client.dropped();
    EXPECT_EQ(client.dropped(), 0U);  // asking sets it back
    const TruthRecords truth(scratch() / "drops.truth");
    const auto& account = *truth.cupti(RecordKind::cupti).at(0);
    EXPECT_EQ(dropped, account.dropped.load());
    EXPECT_EQ(lines_of(truth, CuptiState::dropped), account.dropped_work.load());
    EXPECT_EQ(lines_of(truth, CuptiState::dropped) + lines_of(truth, CuptiState::delivered),
              launches);
    EXPECT_EQ(client.seen(kernels).size(), lines_of(truth, CuptiState::delivered));
    const double share = static_cast<double>(account.buffers_dropped.load()) /
                         static_cast<double>(account.buffers_completed.load());
    EXPECT_GT(account.buffers_dropped.load(), 3U);
    EXPECT_NEAR(share, 0.05, 0.02);
    const std::size_t calls = client.seen(CUPTI_ACTIVITY_KIND_RUNTIME).size();
    EXPECT_EQ(calls + client.seen(kernels).size() + dropped, 2 * launches + 1);
  });
}

TEST(CuptiFaults, WithoutABufferRecordsAreDropped) {
  in_own_process("no_buffer", "", [] {
    CuptiClient client;
    client.gives_none = true;
    client.start({kernels});
    for (int i = 0; i < 10; ++i) {
      kernel.launch(nullptr);
    }
    cudaDeviceSynchronize();
    client.flush();
    EXPECT_EQ(client.dropped(), 10U);
    EXPECT_EQ(lines_of(TruthRecords(scratch() / "no_buffer.truth"), CuptiState::dropped), 10U);
  });
}

TEST(CuptiFaults, BuffersAskedForInLaunchesAlone) {
  in_own_process("in_launch", "faults: [cupti_requests_in_launches: {}]", [] {
    CuptiClient client("13", 4 << 10);
    client.start({kernels});
    std::thread job([&client] {
      for (int i = 0; i < 500; ++i) {
        kernel.launch(nullptr);
      }
      cudaDeviceSynchronize();
      const auto foreign = [](std::thread::id id) { return id != std::this_thread::get_id(); };
      EXPECT_EQ(std::count_if(client.requesters.begin(), client.requesters.end(), foreign), 0);
    });
    job.join();
    const std::size_t asked = client.requesters.size();
    EXPECT_GT(asked, 20U);
    client.flush();
    EXPECT_EQ(client.requesters.size(), asked);
    EXPECT_EQ(client.seen(kernels).size(), 500U);
  });
}

TEST(CuptiFaults, ADestroyedContextTakesItsRecordsAlong) {
  in_own_process("context", "", [] {
    CuptiClient client;
    client.start({kernels, CUPTI_ACTIVITY_KIND_RUNTIME});
    for (int i = 0; i < 7; ++i) {
      kernel.launch(nullptr);
    }
    cudaDeviceReset();
    client.flush();
    EXPECT_TRUE(client.seen(kernels).empty());
    kernel.launch(nullptr);
    cudaDeviceSynchronize();
    client.flush();
    ASSERT_EQ(client.seen(kernels).size(), 1U);
    EXPECT_EQ(client.seen(kernels)[0].as<CUpti_ActivityKernel10>().contextId, 9U);
    const TruthRecords truth(scratch() / "context.truth");
    EXPECT_EQ(lines_of(truth, CuptiState::lost), 7U);
    EXPECT_EQ(truth.cupti(RecordKind::cupti).at(0)->lost.load(), 7U);
  });
}

TEST(CuptiFaults, AFlushAtTheContextsEndLosesNothing) {
  in_own_process("context_end", "", [] {
    CuptiClient client;
    ASSERT_EQ(client.subscribe(), CUPTI_SUCCESS);
    const auto enabled =
        client.call<std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain, CUpti_CallbackId>(
            "cuptiEnableCallback", 1, client.subscriber, CUPTI_CB_DOMAIN_RESOURCE,
            CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
    EXPECT_EQ(enabled, CUPTI_SUCCESS);
    int ends = 0;
    client.on_callback = [&](CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
      EXPECT_EQ(domain, CUPTI_CB_DOMAIN_RESOURCE);
      EXPECT_EQ(id, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING);
      std::uint32_t context = 0;
      client.call<CUcontext, std::uint32_t*>(
          "cuptiGetContextId", static_cast<const CUpti_ResourceData*>(data)->context, &context);
      EXPECT_EQ(context, 1U);
      client.flush();
      ++ends;
    };
    client.start({kernels});
    for (int i = 0; i < 7; ++i) {
      kernel.launch(nullptr);
    }
    cudaDeviceReset();
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(client.seen(kernels).size(), 7U);
    EXPECT_EQ(lines_of(TruthRecords(scratch() / "context_end.truth"), CuptiState::lost), 0U);
  });
}

TEST(CuptiFaults, OnlyAForcedFlushGivesWhatIsNotOver) {
  in_own_process("forced", "kernels: {default: 300ms}", [] {
    CuptiClient client;
    client.start({kernels});
    kernel.launch(nullptr);
    client.flush();
    EXPECT_TRUE(client.seen(kernels).empty());
    client.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    ASSERT_EQ(client.seen(kernels).size(), 1U);
    EXPECT_EQ(client.seen(kernels)[0].as<CUpti_ActivityKernel10>().end, 0U);
    EXPECT_EQ(lines_of(TruthRecords(scratch() / "forced.truth"), CuptiState::incomplete), 1U);
  });
}

TEST(CuptiFaults, AtExitTheContextCanBeGoneFirst) {
  in_own_process("at_exit", "faults: [context_ends_at_exit: {}]", [] {
    // Registered first, so it runs after the context's end, and before this test's folder goes.
    std::atexit([] {
      const TruthRecords truth(scratch() / "at_exit.truth");
      const bool right =
          lines_of(truth, CuptiState::delivered) == 1 && lines_of(truth, CuptiState::lost) == 2;
      _exit(right && !testing::Test::HasFailure() ? 0 : 1);
    });
    CuptiClient client;
    client.start({kernels});
    kernel.launch(nullptr);
    cudaDeviceSynchronize();
    client.flush();
    kernel.launch(nullptr);
    kernel.launch(nullptr);
    cudaDeviceSynchronize();
    std::exit(1);
  });
}

TEST(CuptiFaults, AForkedChildWritesNothing) {
  in_own_process("forked_client", "", [] {
    CuptiClient client;
    ASSERT_EQ(client.subscribe(), CUPTI_SUCCESS);
    client.start({kernels, CUPTI_ACTIVITY_KIND_RUNTIME});
    kernel.launch(nullptr);
    cudaDeviceSynchronize();
    const pid_t child = fork();
    if (child == 0) {
      const std::size_t asked = client.requesters.size();
      void* memory = nullptr;
      const bool refused = cudaMalloc(&memory, 10) == cudaErrorInitializationError;
      _exit(refused && client.requesters.size() == asked ? 0 : 1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
    client.flush();
    EXPECT_EQ(client.seen(kernels).size(), 1U);
  });
}

TEST(CuptiFaults, FullBuffersComeFromAThreadOfItsOwn) {
  in_own_process("worker", "", [] {
    CuptiClient client("13", 4 << 10);
    std::atomic<int> foreign{0};
    client.on_completed = [&foreign, self = std::this_thread::get_id()] {
      foreign += std::this_thread::get_id() == self ? 0 : 1;
    };
    client.start({kernels});
    for (int i = 0; i < 100; ++i) {
      kernel.launch(nullptr);
    }
    cudaDeviceSynchronize();
    for (int i = 0; i < 1000 && foreign < 5; ++i) {
      simgpu::sleep_for(10'000'000);
    }
    EXPECT_GE(foreign, 5);  // 18 records fit into one: the rest waits for a flush
    EXPECT_GE(client.seen(kernels).size(), 90U);
    client.flush();
    EXPECT_EQ(client.seen(kernels).size(), 100U);
  });
}

TEST(CuptiFaults, MisuseEndsTheProcess) {
  EXPECT_TRUE(is_misuse([] { CuptiClient().call("cuptiFinalize"); }));
  EXPECT_TRUE(is_misuse(
      [] { CuptiClient().call("cuptiActivityEnable", static_cast<CUpti_ActivityKind>(99)); }));
  EXPECT_TRUE(is_misuse([] {
    CuptiClient client;
    client.subscribe();
    client.call("cuptiUnsubscribe", client.subscriber);
    client.call("cuptiUnsubscribe", client.subscriber);
  }));
  EXPECT_TRUE(is_misuse([] {
    CuptiClient client;
    client.misalignment = 4;
    client.start({CUPTI_ACTIVITY_KIND_DEVICE});
  }));
  EXPECT_TRUE(is_misuse([] {
    CuptiClient client;
    client.on_completed = [&client] { client.flush(); };
    client.start({CUPTI_ACTIVITY_KIND_DEVICE});
    client.flush();
  }));
  EXPECT_TRUE(is_misuse([] {
    std::ofstream(scratch() / "misuse.yaml") << "faults: [cupti_taken: {}]";
    setenv("SIMGPU_SCRIPT", (scratch() / "misuse.yaml").c_str(), 1);
    CuptiClient client;
    client.subscribe();
    client.start({kernels});
  }));
  EXPECT_TRUE(is_misuse([] {
    CuptiClient client;
    kernel.launch(nullptr);
    client.start({kernels});
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    reinterpret_cast<CUresult (*)(unsigned)>(dlsym(driver, "cuInit"))(0);
  })) << "it would not return";
  EXPECT_FALSE(is_misuse([] {
    CuptiClient client;
    client.start({CUPTI_ACTIVITY_KIND_DEVICE});
    client.flush();
  }));
}

}  // namespace
}  // namespace traceagent::sim_test
