#include "agent/process/event_times.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "agent/device/event_timing.hpp"
#include "agent/event/ticks.hpp"
#include "agent/process/agent.hpp"
#include "agent/ring/writer.hpp"
#include "tests/unit/device/event_timing_fake.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::process {
namespace {

using device::FakeGpu;

// As though the program's libcudart had been found.
class FakeTimes : public EventTimes {
 public:
  void turn_on(const device::EventApi& api) {
    poller().turn_on(api, false);
    poller().poll();
  }
  void poll() { poller().poll(); }
};

class EventTimesTest : public ::testing::Test {
 protected:
  EventTimesTest() {
    memory_.ring().header().nominal_ns_per_tick = 1.0;
    agent_.ring.ring = memory_.ring();
    agent_.options.device_settle = 3'600'000'000'000;
    agent_.options.exit_timeout = 2'000'000;
    ring::target.ring = memory_.ring();
    ring::target.generation.fetch_add(1, std::memory_order_release);
    FakeGpu::now_in_use = std::make_unique<FakeGpu>();
    api_ = FakeGpu::get().api();
    device::want_device(0);
  }
  ~EventTimesTest() override {
    // Never freed, since a thread may hold one; and no leak.
    static auto& forgotten = *new std::vector<device::EventSlot*>;
    for (const auto& place : device::event_slots) forgotten.push_back(place.load());
    device::forget_event_timing();
    ring::target.ring = ring::Ring();
    ring::target.generation.fetch_add(1, std::memory_order_release);
  }

  // A collective whose stream is busy for an hour.
  void begin_endless_call() {
    const cudaStream_t stream = FakeGpu::get().add_stream();
    event::Record* record = ring::claim(ring::writer);
    record->layout = event::Layout::collective;
    ring::publish(*record, event::read_ticks());
    FakeGpu::get().launch(stream, 3'600'000'000'000);
    device::OperationTimer timer;
    timer.begin(*record, stream);
    timer.end(true);
  }

  ring::MemoryRing memory_{2 << 20};
  Agent agent_;
  device::EventApi api_;  // the doors keep its address
  FakeTimes times_;
};

// A window that has failed is written once more at the very end, when nobody asks the job's events
// any more: it must not wait for what was still running then.
TEST_F(EventTimesTest, AWindowIsSettledWhenNobodyAsksTheEventsAnyMore) {
  times_.turn_on(api_);
  ring::Window& window = memory_.ring().header().windows[0];
  begin_endless_call();
  times_.poll();
  window.end_ticks = event::read_ticks();
  EXPECT_FALSE(times_.is_settled(agent_, window));
  times_.finish(agent_);
  EXPECT_TRUE(times_.is_settled(agent_, window));
}

TEST_F(EventTimesTest, AWindowIsSettledWhenItHasWaitedLongEnough) {
  times_.turn_on(api_);
  ring::Window& window = memory_.ring().header().windows[0];
  begin_endless_call();
  times_.poll();
  window.end_ticks = event::read_ticks();
  EXPECT_FALSE(times_.is_settled(agent_, window));
  agent_.options.device_settle = 0;
  EXPECT_TRUE(times_.is_settled(agent_, window));
}

}  // namespace
}  // namespace traceagent::process
