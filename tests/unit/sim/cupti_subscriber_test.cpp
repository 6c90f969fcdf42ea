#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include "tests/unit/sim/cupti_client.hpp"

namespace traceagent::sim_test {
namespace {

void enable_runtime_calls(const CuptiClient& client) {
  const auto enabled = client.call<std::uint32_t, CUpti_SubscriberHandle, CUpti_CallbackDomain>(
      "cuptiEnableDomain", 1, client.subscriber, CUPTI_CB_DOMAIN_RUNTIME_API);
  EXPECT_EQ(enabled, CUPTI_SUCCESS);
}

void unsubscribe(const CuptiClient& client) {
  EXPECT_EQ(client.call("cuptiUnsubscribe", client.subscriber), CUPTI_SUCCESS);
}

TEST(CuptiSubscriber, WhoComesAnewWantsNothingYet) {
  in_own_process("anew", "", [] {
    CuptiClient client;
    int called = 0;
    client.on_callback = [&](CUpti_CallbackDomain, CUpti_CallbackId, const void*) { ++called; };
    ASSERT_EQ(client.subscribe(), CUPTI_SUCCESS);
    enable_runtime_calls(client);
    cudaDeviceSynchronize();
    EXPECT_EQ(called, 2);
    unsubscribe(client);
    ASSERT_EQ(client.subscribe(), CUPTI_SUCCESS);
    cudaDeviceSynchronize();
    EXPECT_EQ(called, 2);
    enable_runtime_calls(client);
    cudaDeviceSynchronize();
    EXPECT_EQ(called, 4);
  });
}

// A soak subscribes for each of its windows: it looks for memory that grows, and this would.
TEST(CuptiSubscriber, LeavesLittleBehind) {
  in_own_process("behind", "", [] {
    CuptiClient client;
    const std::size_t before_bytes = mallinfo2().uordblks;
    for (int i = 0; i < 100; ++i) {
      ASSERT_EQ(client.subscribe(), CUPTI_SUCCESS);
      unsubscribe(client);
    }
    EXPECT_LT(mallinfo2().uordblks, before_bytes + (64 << 10));
  });
}

}  // namespace
}  // namespace traceagent::sim_test
