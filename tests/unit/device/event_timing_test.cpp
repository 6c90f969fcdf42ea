#include "agent/device/event_timing.hpp"

#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "agent/device/event_timing_poller.hpp"
#include "agent/event/device_record.hpp"
#include "agent/ring/writer.hpp"
#include "tests/unit/device/event_timing_fake.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::device {
namespace {

constexpr std::int64_t us = 1'000;
constexpr std::int64_t ms = 1'000'000;

class EventTiming : public testing::Test {
 protected:
  EventTiming() : memory_(64 << 20) {
    ring::target.ring = memory_.ring();
    ring::target.generation.fetch_add(1, std::memory_order_release);
    ring::prepare_thread_exit();
    FakeGpu::now_in_use = std::make_unique<FakeGpu>();
    FakeGpu::last_error = cudaSuccess;
    FakeGpu::capture_mode = cudaStreamCaptureModeGlobal;
    FakeGpu::current_device = 0;
    gpu().clock_zero_ns = FakeGpu::wall_ns() - 5 * ms;
    api_ = gpu().api();
    stream_ = gpu().add_stream();
    want_device(0);
  }
  ~EventTiming() override {
    poller_.turn_off();
    // Never freed, since a thread may hold one; and no leak.
    static auto& forgotten = *new std::vector<EventSlot*>;
    for (const auto& place : event_slots) forgotten.push_back(place.load());
    forget_event_timing();
    ring::target.ring = ring::Ring();
    ring::target.generation.fetch_add(1, std::memory_order_release);
  }

  static FakeGpu& gpu() { return FakeGpu::get(); }
  static std::uint64_t lost(Untimed cause) {
    return untimed[static_cast<std::size_t>(cause)].load();
  }

  // What a wrapper does: a record, the timer around the real call.
  event::Record* begin_call() {
    event::Record* record = ring::claim(ring::writer);
    record->layout = event::Layout::collective;
    ring::publish(*record, event::read_ticks());
    return record;
  }
  struct Done {
    const event::Record* record;
    std::int64_t begin_ns, end_ns;
  };
  Done operation(cudaStream_t stream, std::int64_t length_ns, bool launched = true) {
    event::Record* record = begin_call();
    OperationTimer timer;
    timer.begin(*record, stream);
    const auto [begin_ns, end_ns] = gpu().launch(stream, length_ns);
    timer.end(launched);
    record->end_ticks.store(event::read_ticks());
    return {record, begin_ns, end_ns};
  }

  void settle() {
    do {
      poller_.poll();
    } while (!poller_.is_settled());
  }

  std::vector<event::TimedByEvent> told() const {
    std::vector<event::TimedByEvent> found;
    for (std::uint64_t i = 0; i < memory_.ring().chunk_count(); ++i) {
      for (const event::Record& record : memory_.ring().chunk(i).records) {
        if (record.layout == event::Layout::timed_by_event) {
          found.push_back(event::timed_by_event_of(record));
        }
      }
    }
    return found;
  }

  void expect_true(const event::TimedByEvent& timed, const Done& done) {
    EXPECT_EQ(timed.host_record, ring::correlation_of(memory_.ring(), *done.record));
    // The events themselves lie a moment outside of the work: before and after it was given.
    EXPECT_GE(timed.start_ns, done.begin_ns - gap_ns_ - timed.error_ns);
    EXPECT_LE(timed.start_ns, done.begin_ns + timed.error_ns);
    EXPECT_GE(timed.end_ns, done.end_ns - timed.error_ns);
    EXPECT_LE(timed.end_ns, done.end_ns + gap_ns_ + timed.error_ns);
  }

  ring::MemoryRing memory_;
  EventApi api_{};
  EventPoller poller_;
  cudaStream_t stream_ = nullptr;
  std::int64_t gap_ns_ = 0;
};

TEST_F(EventTiming, GivesTheTimesOfWorkWithinTheStatedError) {
  poller_.turn_on(api_, false);
  // Queued behind something: its event is exact, however slow this machine is.
  gpu().launch(stream_, 20 * ms);
  const Done first = operation(stream_, 3 * ms);
  const Done second = operation(stream_, 100 * us);
  settle();
  const auto timed = told();
  ASSERT_EQ(timed.size(), 2u);
  expect_true(timed[0], first);
  expect_true(timed[1], second);
  EXPECT_EQ(timed[0].stream, reinterpret_cast<std::uintptr_t>(stream_));
  EXPECT_NEAR(static_cast<double>(timed[0].end_ns - timed[0].start_ns), 3e6, 600);
  EXPECT_EQ(poller_.timed(), 2u);
  for (std::size_t cause = 0; cause < untimed_cause_count; ++cause) {
    EXPECT_EQ(untimed[cause].load(), 0u) << untimed_cause_names[cause];
  }
}

// The event would be recorded on the current device's own default stream.
TEST_F(EventTiming, ADefaultStreamOfAnotherDeviceIsNotTimed) {
  poller_.turn_on(api_, false);
  OperationTimer timer;
  timer.begin(*begin_call(), nullptr, 1);
  timer.end(true);
  settle();
  EXPECT_TRUE(told().empty());
  EXPECT_EQ(untimed[static_cast<std::size_t>(Untimed::other_device)].load(), 1u);
}

TEST_F(EventTiming, AStreamThatStillRunsHoldsUpNoOther) {
  poller_.turn_on(api_, false);
  const cudaStream_t other = gpu().add_stream();
  gpu().launch(stream_, 3600'000 * ms);
  operation(stream_, us);
  const Done quick = operation(other, us);
  poller_.poll();
  while (told().empty()) poller_.poll();
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told()[0].host_record, ring::correlation_of(memory_.ring(), *quick.record));
  EXPECT_FALSE(poller_.is_settled());
  EXPECT_TRUE(poller_.is_settled(1));
  poller_.finish(2 * ms);
  EXPECT_EQ(lost(Untimed::not_finished), 1u);
}

TEST_F(EventTiming, NothingIsRecordedIntoACapture) {
  poller_.turn_on(api_, false);
  gpu().stream(stream_).is_capturing = true;
  operation(stream_, us);
  EXPECT_FALSE(gpu().capture_was_ended);
  EXPECT_EQ(lost(Untimed::in_capture), 1u);
  gpu().stream(stream_).is_capturing = false;
  settle();
  EXPECT_TRUE(told().empty());
}

TEST_F(EventTiming, ACaptureInAnotherThreadGoesOn) {
  const cudaStream_t captured = gpu().add_stream();
  gpu().stream(captured).is_capturing = true;
  std::thread drain([this] {
    poller_.turn_on(api_, false);
    EXPECT_EQ(FakeGpu::capture_mode, cudaStreamCaptureModeRelaxed);
  });
  drain.join();
  operation(stream_, us);
  EXPECT_FALSE(gpu().capture_was_ended);
  // The test can tell: without the relaxed mode this thread's query ends it.
  api_.query(reinterpret_cast<cudaEvent_t>(&gpu().events.front()));
  EXPECT_TRUE(gpu().capture_was_ended);
  gpu().stream(captured).is_capturing = false;
  settle();
  EXPECT_EQ(told().size(), 1u);
}

TEST_F(EventTiming, AnErrorThatTheJobHasYetToReadStays) {
  poller_.turn_on(api_, false);
  FakeGpu::last_error = cudaErrorInvalidValue;
  gpu().calls_of_job = 0;
  operation(stream_, us);
  EXPECT_EQ(FakeGpu::last_error, cudaErrorInvalidValue);
  EXPECT_EQ(gpu().calls_of_job, 0);
  EXPECT_EQ(lost(Untimed::pending_error), 1u);
  FakeGpu::last_error = cudaSuccess;
}

TEST_F(EventTiming, AnErrorOfOursIsNotTheJobs) {
  poller_.turn_on(api_, false);
  FakeGpu::last_error = cudaSuccess;
  gpu().record_result = cudaErrorInvalidResourceHandle;
  errno = 77;
  operation(stream_, us);
  EXPECT_EQ(FakeGpu::last_error, cudaSuccess);
  EXPECT_EQ(errno, 77);
  EXPECT_EQ(lost(Untimed::refused), 1u);
  gpu().record_result = cudaSuccess;
  const Done next = operation(stream_, us);
  settle();
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told()[0].host_record, ring::correlation_of(memory_.ring(), *next.record));
}

TEST_F(EventTiming, AFailedCallGivesItsPairBack) {
  poller_.turn_on(api_, false);
  const std::size_t made = gpu().events.size();
  for (int i = 0; i < 1000; ++i) {
    operation(stream_, us, false);
    poller_.poll();
  }
  EXPECT_EQ(lost(Untimed::not_launched), 1000u);
  EXPECT_EQ(lost(Untimed::no_events), 0u);
  // One more slot of the next thread's own, and no more.
  EXPECT_LE(gpu().events.size(), 2 * made);
  EXPECT_TRUE(told().empty());
}

TEST_F(EventTiming, MoreOperationsThanPairsAreCountedAndThenProvidedFor) {
  poller_.turn_on(api_, false);
  gpu().launch(stream_, 50 * ms);
  const int many = 200;
  for (int i = 0; i < many; ++i) operation(stream_, us);
  const std::uint64_t without = lost(Untimed::no_events);
  EXPECT_GT(without, 0u);
  settle();
  EXPECT_EQ(told().size() + without, static_cast<std::size_t>(many));
  gpu().launch(stream_, 50 * ms);
  for (int i = 0; i < many; ++i) operation(stream_, us);
  EXPECT_EQ(lost(Untimed::no_events), without);
  settle();
  EXPECT_EQ(told().size() + without, static_cast<std::size_t>(2 * many));
}

TEST_F(EventTiming, ThreadsHavePairsOfTheirOwnAndPassThemOnAtTheirEnd) {
  poller_.turn_on(api_, false);
  const auto one_thread_after_another = [this](int count) {
    for (int i = 0; i < count; ++i) {
      std::thread([this] { operation(stream_, us); }).join();
      settle();
    }
  };
  one_thread_after_another(60);
  EXPECT_EQ(told().size(), 60u);
  // The drain looks for dead threads ten times a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(120));
  poller_.poll();
  one_thread_after_another(60);
  EXPECT_EQ(told().size(), 120u);
  EXPECT_EQ(lost(Untimed::no_events), 0u);
}

TEST_F(EventTiming, OperationsOfManyThreadsAtOnceAreAllTimedOrCounted) {
  poller_.turn_on(api_, false);
  std::atomic<bool> ended{false};
  std::thread drain([&] {
    while (!ended) poller_.poll();
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([this] {
      const cudaStream_t own = gpu().add_stream();
      for (int n = 0; n < 2000; ++n) operation(own, us);
    });
  }
  for (std::thread& thread : threads) thread.join();
  ended = true;
  drain.join();
  settle();
  std::uint64_t full = memory_.dropped(ring::DropCause::device_ring_full);
  EXPECT_EQ(told().size() + full + lost(Untimed::no_events), 8000u);
  EXPECT_GT(told().size(), 0u);
}

TEST_F(EventTiming, EventsOfTheStreamsDeviceAreUsed) {
  want_device(3);
  poller_.turn_on(api_, false);
  FakeGpu::current_device = 0;
  const cudaStream_t other = gpu().add_stream(3);
  operation(other, us);
  settle();
  ASSERT_EQ(told().size(), 1u);
  EXPECT_EQ(told()[0].device, 3);
  EXPECT_EQ(lost(Untimed::refused), 0u);
}

TEST_F(EventTiming, NoContextIsMadeByUs) {
  gpu().context_is_active = 0;
  poller_.turn_on(api_, false);
  EXPECT_TRUE(gpu().events.empty());
  operation(stream_, us);
  EXPECT_EQ(lost(Untimed::no_events), 1u);
  gpu().context_is_active = 1;
  poller_.poll();
  operation(stream_, us);
  settle();
  EXPECT_EQ(told().size(), 1u);
}

TEST_F(EventTiming, AfterADeviceResetNoOldEventIsUsed) {
  poller_.turn_on(api_, false);
  gpu().launch(stream_, 3600'000 * ms);
  operation(stream_, us);
  poller_.poll();
  before_device_reset();
  gpu().kill_contexts();
  operation(stream_, us);
  EXPECT_GT(lost(Untimed::no_events), 0u);
  poller_.poll();
  EXPECT_EQ(lost(Untimed::lost_device), 1u);
  const cudaStream_t fresh = gpu().add_stream();
  operation(fresh, us);  // tells that the device is in use again
  poller_.poll();
  operation(fresh, us);
  settle();
  EXPECT_EQ(told().size(), 1u);
  EXPECT_EQ(gpu().dead_uses, 0);
}

TEST_F(EventTiming, AThreadThatIsCancelledOutlivesOurPauses) {
  poller_.turn_on(api_, false);
  drain_uses_events = true;
  bool came_back = false;
  std::thread job([&] {
    pthread_cancel(pthread_self());
    before_device_reset();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    came_back = true;
  });
  job.join();
  drain_uses_events = false;
  EXPECT_TRUE(came_back);
}

TEST_F(EventTiming, AJobMayResetItsDeviceForEver) {
  poller_.turn_on(api_, false);
  constexpr std::size_t resets = 200;  // more than there are places for slots
  for (std::size_t i = 0; i < resets; ++i) {
    const cudaStream_t fresh = gpu().add_stream();
    operation(fresh, us);
    poller_.poll();
    operation(fresh, us);
    settle();
    before_device_reset();
    gpu().kill_contexts();
    poller_.poll();
  }
  EXPECT_GE(told().size(), resets);
  EXPECT_EQ(gpu().dead_uses, 0);
  EXPECT_EQ(poller_.take_problem(), nullptr);
  const auto used = std::count_if(event_slots.begin(), event_slots.end(),
                                  [](const auto& place) { return place.load() != nullptr; });
  EXPECT_LE(used, 3);
}

TEST_F(EventTiming, AContextThatIsGoneStopsItsDevice) {
  poller_.turn_on(api_, false);
  gpu().launch(stream_, 3600'000 * ms);
  operation(stream_, us);
  poller_.poll();
  gpu().context_is_active = 0;
  gpu().kill_contexts();
  poller_.poll();
  EXPECT_EQ(lost(Untimed::lost_device), 1u);
  EXPECT_TRUE(poller_.is_settled());
  operation(stream_, us);
  poller_.poll();
  EXPECT_EQ(gpu().dead_uses, 0);
}

TEST_F(EventTiming, AnErrorOfTheDeviceIsCountedAndNothingIsUsedAgain) {
  poller_.turn_on(api_, false);
  operation(stream_, us);
  gpu().query_result = cudaErrorIllegalAddress;
  poller_.poll();
  EXPECT_EQ(lost(Untimed::lost_device), 1u);
  EXPECT_EQ(FakeGpu::last_error, cudaSuccess);
  operation(stream_, us);
  for (int i = 0; i < 3; ++i) poller_.poll();
  EXPECT_TRUE(told().empty());
  EXPECT_NE(poller_.take_problem(), nullptr);
  EXPECT_EQ(poller_.take_problem(), nullptr);
}

TEST_F(EventTiming, WhereNoEventsCanBeMadeOneLineSaysSo) {
  gpu().events_left = 3;
  poller_.turn_on(api_, false);
  operation(stream_, us);
  poller_.poll();
  EXPECT_NE(poller_.take_problem(), nullptr);
  EXPECT_GT(lost(Untimed::no_events), 0u);
}

TEST_F(EventTiming, OffMeansNoCallAtAll) {
  poller_.turn_on(api_, false);
  poller_.turn_off();
  gpu().calls_of_job = 0;
  operation(stream_, us);
  EXPECT_EQ(gpu().calls_of_job, 0);
  // What was begun before is still read.
  poller_.turn_on(api_, false);
  operation(stream_, us);
  poller_.turn_off();
  settle();
  EXPECT_EQ(told().size(), 1u);
}

TEST_F(EventTiming, OurOwnCallsAreNoCallsOfTheJob) {
  poller_.turn_on(api_, false);
  static std::uint32_t depth;
  api_.record = [](cudaEvent_t, cudaStream_t) {
    depth = ring::writer.nested_in_start;
    return cudaSuccess;
  };
  operation(stream_, us);
  EXPECT_EQ(depth, ring::writer.nested_in_start + 1);
}

// The base alone: what cannot be waited for.
class TimesFromABase : public EventTiming {
 protected:
  cudaEvent_t event_at(std::int64_t wall_ns) {
    gpu().events.push_back({wall_ns, 0, false});
    return reinterpret_cast<cudaEvent_t>(&gpu().events.back());
  }
};

TEST_F(TimesFromABase, AreTrueWithinTheirErrorOnAClockThatDrifts) {
  for (const double drift : {-15e-6, 0.0, 15e-6}) {
    gpu().drift = drift;
    gpu().clock_zero_ns = FakeGpu::wall_ns();
    EventBase base(api_);
    ASSERT_TRUE(base.prepare());
    ASSERT_TRUE(base.renew(FakeGpu::wall_ns()));
    const std::int64_t start_ns = FakeGpu::wall_ns() + 1900 * ms, end_ns = start_ns + 700 * ms;
    const auto times = base.times_of(event_at(start_ns), event_at(end_ns), start_ns);
    ASSERT_TRUE(times.has_value());
    EXPECT_LE(std::abs(times->start_ns - start_ns), times->error_ns) << drift;
    EXPECT_LE(std::abs(times->end_ns - end_ns), times->error_ns) << drift;
    // 20 ppm of 2.6 s and what measuring the base took: no bound that says nothing.
    EXPECT_GE(times->error_ns, 2600 * ms / 50'000);
  }
}

TEST_F(TimesFromABase, TheNearestOfTheLastBasesIsUsed) {
  EventBase base(api_);
  ASSERT_TRUE(base.prepare());
  std::int64_t now_ns = FakeGpu::wall_ns();
  for (int i = 0; i < 40; ++i) {
    ASSERT_TRUE(base.renew(now_ns));
    now_ns += 2'000 * ms;  // as if: the events themselves lie in the present
    const std::int64_t start_ns = FakeGpu::wall_ns();
    const auto times = base.times_of(event_at(start_ns), event_at(start_ns + ms), start_ns);
    ASSERT_TRUE(times.has_value());
    EXPECT_LE(std::abs(times->start_ns - start_ns), times->error_ns) << i;
  }
}

TEST_F(TimesFromABase, ADeviceTooBusyToAnswerIsAskedAgain) {
  EventBase base(api_);
  ASSERT_TRUE(base.prepare());
  gpu().streams.back().free_at_ns = FakeGpu::wall_ns() + 3600'000 * ms;
  EXPECT_TRUE(base.renew(FakeGpu::wall_ns()));
  EXPECT_FALSE(base.is_known());
  EXPECT_FALSE(base.times_of(event_at(1), event_at(2), 1).has_value());
  gpu().streams.back().free_at_ns = 0;
  EXPECT_TRUE(base.renew(FakeGpu::wall_ns()));
  EXPECT_TRUE(base.is_known());
}

}  // namespace
}  // namespace traceagent::device
