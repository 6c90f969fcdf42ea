// CUPTI's life, against a made-up library that notes what is asked of it: what is switched on is
// switched off, what the job wants the job gets, and an old CUPTI is never refused a buffer.

#include "agent/device/cupti_session.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <set>
#include <thread>
#include <vector>

#include "agent/device/cupti_yield.hpp"
#include "tests/unit/device/crafted_records.hpp"

namespace traceagent::device {
namespace {

constexpr std::size_t mib = 1024 * 1024;
constexpr std::uint32_t before_refusals = 26, newest = 130001;

struct FakeCupti {
  int subscribers = 0, flushes = 0, thread_ids = 0;
  int all_sync_records = 1;
  bool is_taken = false;
  std::set<std::uint32_t> kinds, kinds_ever;
  std::int64_t clock_offset_ns = 0;
  RequestBuffer request = nullptr;
  CompleteBuffer complete = nullptr;
  std::function<void()> while_subscribing, while_flushing;
};
FakeCupti fake;

CuptiResult subscribe(void** subscriber, Callback, void*) {
  if (fake.is_taken) return cupti_result::multiple_subscribers;
  if (fake.while_subscribing) fake.while_subscribing();
  ++fake.subscribers;
  *subscriber = &fake;
  return cupti_result::success;
}
CuptiResult unsubscribe(void*) {
  --fake.subscribers;
  return cupti_result::success;
}
CuptiResult register_callbacks(RequestBuffer request, CompleteBuffer complete) {
  fake.request = request;
  fake.complete = complete;
  return cupti_result::success;
}
CuptiResult enable(std::uint32_t kind) {
  fake.kinds.insert(kind);
  fake.kinds_ever.insert(kind);
  return cupti_result::success;
}
CuptiResult disable(std::uint32_t kind) {
  fake.kinds.erase(kind);
  return cupti_result::success;
}
CuptiResult flush_all(std::uint32_t) {
  ++fake.flushes;
  if (fake.while_flushing) fake.while_flushing();
  return cupti_result::success;
}
CuptiResult enable_all_sync_records(std::uint8_t on) {
  fake.all_sync_records = on;
  return cupti_result::success;
}
CuptiResult set_thread_id_type(int type) {
  fake.thread_ids = type;
  return cupti_result::success;
}
CuptiResult get_thread_id_type(int* type) {
  *type = fake.thread_ids;
  return cupti_result::success;
}
CuptiResult get_timestamp(std::uint64_t* ns) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  *ns = static_cast<std::uint64_t>(now.tv_sec * 1'000'000'000 + now.tv_nsec + fake.clock_offset_ns);
  return cupti_result::success;
}

CuptiLibrary made_up(std::uint32_t version) {
  CuptiLibrary library;
  library.path = "libcupti.so.made-up";
  library.version = version;
  library.functions.subscribe = subscribe;
  library.functions.unsubscribe = unsubscribe;
  library.functions.register_callbacks = register_callbacks;
  library.functions.enable = enable;
  library.functions.disable = disable;
  library.functions.flush_all = flush_all;
  library.functions.enable_all_sync_records = enable_all_sync_records;
  library.functions.set_thread_id_type = set_thread_id_type;
  library.functions.get_thread_id_type = get_thread_id_type;
  library.functions.get_timestamp = get_timestamp;
  library.functions.next_record = CraftedBuffer::next;
  return library;
}

class CuptiSessionTest : public testing::Test {
 protected:
  CuptiSessionTest() : ring(4 * mib) {
    fake = FakeCupti();
    job_is_done();
    remember_job_callbacks(nullptr, nullptr);
  }
  // Never destroyed: CUPTI's callbacks may come at any time.
  CuptiSession& session_of(std::uint32_t version) {
    static auto& made = *new std::vector<CuptiSession*>;
    return *made.emplace_back(new CuptiSession(ring.ring(), mib, made_up(version)));
  }
  std::uint8_t* request() {
    std::uint8_t* buffer = nullptr;
    std::size_t bytes = 0, records = 0;
    fake.request(&buffer, &bytes, &records);
    EXPECT_EQ(buffer == nullptr, bytes == 0);
    if (buffer != nullptr) buffer[0] = buffer[bytes - 1] = 1;
    return buffer;
  }

  OwnRing ring;
};

TEST_F(CuptiSessionTest, leaves_nothing_on) {
  fake.thread_ids = 7;
  CuptiSession& session = session_of(newest);
  ASSERT_EQ(session.enable(), CuptiState::recording);
  EXPECT_EQ(fake.subscribers, 1);
  EXPECT_FALSE(fake.kinds.empty());
  EXPECT_EQ(fake.thread_ids, system_thread_ids);
  EXPECT_EQ(session.problem(), "");
  session.disable();
  EXPECT_EQ(session.state(), CuptiState::off);
  EXPECT_EQ(fake.subscribers, 0);
  EXPECT_TRUE(fake.kinds.empty());
  EXPECT_EQ(fake.thread_ids, 7);
  EXPECT_EQ(fake.all_sync_records, 1) << "CUPTI's default";
}

// On a real GPU this kind costs each later call of the job, also once it is off.
TEST_F(CuptiSessionTest, waits_are_recorded_only_where_that_is_asked_for) {
  constexpr auto waits = static_cast<std::uint32_t>(ActivityKind::synchronisation);
  CuptiSession& usual = session_of(newest);
  ASSERT_EQ(usual.enable(), CuptiState::recording);
  usual.disable();
  EXPECT_FALSE(fake.kinds_ever.contains(waits));
  EXPECT_EQ(fake.all_sync_records, 1);

  CuptiSession& asked = session_of(newest);
  asked.record_waits();
  ASSERT_EQ(asked.enable(), CuptiState::recording);
  EXPECT_TRUE(fake.kinds.contains(waits));
  EXPECT_EQ(fake.all_sync_records, 0);
  asked.disable();
  EXPECT_FALSE(fake.kinds.contains(waits));
  EXPECT_EQ(fake.all_sync_records, 1);
}

TEST_F(CuptiSessionTest, says_since_when_until_it_is_on_again) {
  const auto& since_ns = ring.ring().header().device.recording_since_ns;
  const auto& until_ns = ring.ring().header().device.recording_until_ns;
  CuptiSession& session = session_of(newest);
  session.enable();
  const std::int64_t first_ns = since_ns;
  EXPECT_GT(first_ns, 0);
  EXPECT_EQ(until_ns, 0);
  session.disable();
  EXPECT_EQ(since_ns, first_ns) << "a window that waits to be written needs it";
  EXPECT_GT(until_ns, first_ns);
  session.enable();
  EXPECT_GT(since_ns, first_ns);
  EXPECT_EQ(until_ns, 0);
  session.disable();
  fake.is_taken = true;
  EXPECT_EQ(session.enable(), CuptiState::taken);
  EXPECT_EQ(since_ns, 0);
  EXPECT_NE(session.problem().find("another profiler"), std::string::npos) << session.problem();
}

TEST_F(CuptiSessionTest, a_cupti_that_is_known_to_hang_is_not_used_unasked) {
  CuptiSession& session = session_of(unsafe_cupti_version);
  EXPECT_EQ(session.enable(), CuptiState::unsafe);
  EXPECT_TRUE(fake.kinds_ever.empty());
  EXPECT_EQ(fake.flushes, 0);
  EXPECT_NE(session.problem().find("13.0 Update 1"), std::string::npos) << session.problem();
  EXPECT_EQ(ring.ring().header().device.source.load(), ring::DeviceSource::cuda_events);
  CuptiSession& accepted = session_of(unsafe_cupti_version);
  accepted.accept_unsafe();
  EXPECT_EQ(accepted.enable(), CuptiState::recording);
  accepted.disable();
}

TEST_F(CuptiSessionTest, a_cupti_with_a_clock_of_the_jobs_is_left_to_it) {
  constexpr std::int64_t hour_ns = 3'600'000'000'000;
  for (const std::int64_t offset_ns : {-hour_ns, hour_ns}) {
    fake.clock_offset_ns = offset_ns;
    CuptiSession& session = session_of(newest);
    EXPECT_EQ(session.enable(), CuptiState::other_clock);
    EXPECT_TRUE(fake.kinds_ever.empty()) << "nothing was recorded";
    EXPECT_EQ(fake.subscribers, 0);
    EXPECT_EQ(fake.thread_ids, 0);
    EXPECT_NE(session.problem().find("clock"), std::string::npos) << session.problem();
    EXPECT_EQ(ring.ring().header().device.source.load(), ring::DeviceSource::cuda_events);
  }
}

TEST_F(CuptiSessionTest, a_clock_that_was_set_a_little_is_no_other_clock) {
  for (const std::int64_t offset_ns : {-900'000'000, 900'000'000}) {
    fake.clock_offset_ns = offset_ns;
    CuptiSession& session = session_of(newest);
    EXPECT_EQ(session.enable(), CuptiState::recording);
    session.disable();
  }
}

TEST_F(CuptiSessionTest, a_cupti_that_can_bear_it_is_refused_buffers) {
  CuptiSession& session = session_of(newest);
  session.enable();
  for (std::size_t i = 0; i < session.buffers().count(); ++i) EXPECT_NE(request(), nullptr);
  EXPECT_EQ(request(), nullptr);
  session.disable();
}

TEST_F(CuptiSessionTest, an_old_cupti_is_never_refused_a_buffer) {
  CuptiSession& session = session_of(before_refusals);
  session.enable();
  const std::size_t count = session.buffers().count();
  std::vector<std::uint8_t*> lent;
  for (std::size_t i = 0; i < 3 * count; ++i) {
    lent.push_back(request());
    ASSERT_NE(lent.back(), nullptr) << i;
  }
  EXPECT_EQ(session.buffers().extra_lent(), 2 * count);
  EXPECT_EQ(std::set(lent.begin(), lent.end()).size(), lent.size());
  // By now they come faster than they are read: what lies in them is counted and passed over.
  CraftedBuffer crafted;
  crafted.add(crafted_kernel("a", 1, 1000, 2000)).add(crafted_kernel("b", 2, 3000, 4000));
  std::memcpy(lent[0], crafted.data(), crafted.size());
  fake.complete(nullptr, 0, lent[0], crafted.size(), crafted.size());
  EXPECT_EQ(ring.dropped(ring::DropCause::device_dropped), 2u);
  EXPECT_TRUE(ring.records().empty());
  for (std::size_t i = 1; i < lent.size(); ++i) fake.complete(nullptr, 0, lent[i], 64, 0);
  EXPECT_EQ(session.buffers().extra_lent(), 0u);
  EXPECT_EQ(session.buffers().lent(), 0u);
  std::uint8_t* buffer = request();
  std::memcpy(buffer, crafted.data(), crafted.size());
  fake.complete(nullptr, 0, buffer, crafted.size(), crafted.size());
  EXPECT_EQ(ring.records().size(), 2u);
  session.disable();
}

TEST_F(CuptiSessionTest, what_is_beyond_the_pool_is_bounded) {
  CuptiSession& session = session_of(before_refusals);
  session.enable();
  std::size_t lent = 0;
  while (request() != nullptr) ++lent;
  EXPECT_EQ(lent, session.buffers().count() + ActivityBuffers::most_extra);
  EXPECT_EQ(session.buffers().extra_lent(), ActivityBuffers::most_extra);
  session.disable();
}

TEST_F(CuptiSessionTest, a_job_that_asks_while_it_is_switched_on_gets_it) {
  CuptiSession& session = session_of(newest);
  std::thread job;
  std::atomic<bool> asks{false};
  fake.while_subscribing = [&] {
    job = std::thread([&] {
      asks = true;
      yield_to_job();
    });
    while (!asks) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  EXPECT_EQ(session.enable(), CuptiState::taken);
  job.join();
  EXPECT_EQ(session.state(), CuptiState::taken);
  EXPECT_EQ(fake.subscribers, 0);
  EXPECT_TRUE(fake.kinds.empty());
  fake.while_subscribing = nullptr;
  EXPECT_EQ(session.enable(), CuptiState::taken) << "until the job is done";
  job_is_done();
  EXPECT_EQ(session.enable(), CuptiState::recording);
  session.disable();
}

TEST_F(CuptiSessionTest, a_child_that_was_forked_in_a_flush_waits_for_nobody) {
  CuptiSession& session = session_of(newest);
  session.enable();
  int status = -1;
  fake.while_flushing = [&] {
    fake.while_flushing = nullptr;
    const pid_t child = fork();
    if (child == 0) {
      alarm(3);  // the lock's patience is longer
      yield_to_job();
      _exit(CuptiSession::is_inherited() && fake.subscribers == 1 ? 0 : 1);
    }
    waitpid(child, &status, 0);
  };
  session.flush(false);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(session.state(), CuptiState::recording);
  session.disable();
}

}  // namespace
}  // namespace traceagent::device
