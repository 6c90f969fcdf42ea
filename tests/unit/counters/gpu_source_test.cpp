#include "agent/counters/gpu_source.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <utility>

#include "agent/event/fork_hold.hpp"
#include "tests/unit/counters/recorded.hpp"

namespace traceagent::counters {
namespace {

using nvml::Device;
using nvml::Result;
using Lines = std::vector<std::string>;

void* find_nothing(void*, const char*) { return nullptr; }

Result two_gpus(unsigned* count) {
  *count = 2;
  return nvml::success;
}

Result any_device(unsigned, Device* device) {
  *device = nullptr;
  return nvml::success;
}

Result unknown_error(Device, unsigned*) { return 999; }

nvml::Functions functions() {
  nvml::Functions made;
  made.get_count = two_gpus;
  made.get_device = any_device;
  return made;
}

class GpuSourceTest : public testing::Test {
 protected:
  Lines told(const std::string& with) const {
    Lines found;
    for (const std::string& each : recorded.not_covered()) {
      if (each.find(with) != std::string::npos) found.push_back(each);
    }
    return found;
  }
  Recorded recorded;
};

TEST_F(GpuSourceTest, GpusThatAreNotSeenAreTold) {
  GpuSource(find_nothing, 2).take(functions(), recorded.recorder);
  EXPECT_EQ(recorded.not_covered(), Lines{});
  GpuSource(find_nothing, 4).take(functions(), recorded.recorder);
  EXPECT_EQ(recorded.not_covered(),
            Lines{"GPU counters: local rank zero sees 2 GPUs, the node has 4 ranks"});
}

TEST_F(GpuSourceTest, AnErrorThatStaysIsToldOnce) {
  nvml::Functions nvml = functions();
  nvml.get_power = unknown_error;
  GpuSource source(find_nothing, 1);
  source.take(nvml, recorded.recorder);
  for (int i = 0; i < 3; ++i) source.sample(recorded.recorder);
  EXPECT_EQ(told("999"), (Lines{"GPU 0 power W: NVML error 999 in some samples",
                                "GPU 1 power W: NVML error 999 in some samples"}));
}

int asked = 0;

template <Result result>
Result refuses(Device, unsigned*) {
  ++asked;
  return result;
}

Result is_lost(Device, nvml::Utilization*) { return nvml::gpu_is_lost; }

TEST_F(GpuSourceTest, WhatIsRefusedForGoodIsAskedOnce) {
  const std::pair<Result (*)(Device, unsigned*), const char*> refusals[] = {
      {refuses<nvml::no_permission>, "GPU 0 power W: no permission"},
      {refuses<nvml::not_supported>, "GPU 0 power W: not supported"}};
  for (const auto& [refusal, words] : refusals) {
    asked = 0;
    nvml::Functions nvml = functions();
    nvml.get_power = refusal;
    GpuSource source(find_nothing, 1);
    source.take(nvml, recorded.recorder);
    for (int i = 0; i < 3; ++i) source.sample(recorded.recorder);
    EXPECT_EQ(asked, 2) << "of each GPU once";
    EXPECT_EQ(told(words).size(), 1u) << words;
  }
}

TEST_F(GpuSourceTest, AGpuThatIsLostIsNotAskedAgain) {
  asked = 0;
  nvml::Functions nvml = functions();
  nvml.get_utilization = is_lost;
  nvml.get_power = refuses<999>;
  GpuSource source(find_nothing, 1);
  source.take(nvml, recorded.recorder);
  source.sample(recorded.recorder);
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(told("lost").size(), 2u);
}

std::uint64_t reasons = 0;

TEST_F(GpuSourceTest, WhatHoldsClocksDownIsToldByItsKind) {
  nvml::Functions nvml = functions();
  nvml.get_count = [](unsigned* count) {
    *count = 1;
    return nvml::success;
  };
  nvml.get_reasons = [](Device, unsigned long long* held) {
    *held = reasons;
    return nvml::success;
  };
  // power, heat, hardware, settings
  const std::pair<std::uint64_t, std::array<std::uint64_t, 4>> kinds[] = {
      {nvml::reason_idle, {0, 0, 0, 0}},          {nvml::reason_application_clocks, {0, 0, 0, 1}},
      {nvml::reason_power_cap, {1, 0, 0, 0}},     {nvml::reason_hardware, {0, 0, 1, 0}},
      {nvml::reason_sync_boost, {0, 0, 0, 1}},    {nvml::reason_heat, {0, 1, 0, 0}},
      {nvml::reason_hardware_heat, {0, 1, 1, 0}}, {nvml::reason_power_brake, {1, 0, 1, 0}},
      {nvml::reason_display, {0, 0, 0, 1}}};
  GpuSource source(find_nothing, 1);
  source.take(nvml, recorded.recorder);
  for (const auto& [reason, groups] : kinds) {
    reasons = reason;
    source.sample(recorded.recorder);
    EXPECT_EQ(recorded.samples(Counter::gpu_throttled).back().values, groups) << reason;
  }
}

TEST_F(GpuSourceTest, OneThatIsStoppedAsksNothing) {
  GpuSource source(find_nothing, 4);
  source.stop();
  source.take(functions(), recorded.recorder);
  source.sample(recorded.recorder);
  EXPECT_EQ(recorded.not_covered(), Lines{});
}

std::thread forking;
std::atomic<bool> has_forked{false};
bool forked_within = false;

Result forks_meanwhile(Device, unsigned*) {
  forking = std::thread([] {
    event::begin_fork();
    has_forked = true;
    event::end_fork_in_parent();
  });
  // Much less than what a fork waits.
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  forked_within = has_forked;
  return nvml::success;
}

TEST_F(GpuSourceTest, AForkWaitsForTheCall) {
  nvml::Functions nvml = functions();
  nvml.get_count = [](unsigned* count) {
    *count = 1;
    return nvml::success;
  };
  nvml.get_power = forks_meanwhile;
  GpuSource source(find_nothing, 1);
  source.take(nvml, recorded.recorder);
  source.sample(recorded.recorder);
  forking.join();
  EXPECT_FALSE(forked_within);
  EXPECT_TRUE(has_forked);
}

}  // namespace
}  // namespace traceagent::counters
