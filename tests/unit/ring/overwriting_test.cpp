#include "agent/ring/overwriting.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <ctime>
#include <functional>
#include <thread>

#include "agent/ring/writer.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace {

std::atomic<bool> is_counting{false};
std::atomic<int> pauses{0};
std::function<void()> in_pause;

}  // namespace

// Instead of libc's, in this program: who waits for threads is counted, and does not sleep.
extern "C" int nanosleep(const timespec* pause, timespec* left) {
  if (!is_counting) return clock_nanosleep(CLOCK_MONOTONIC, 0, pause, left);
  ++pauses;
  if (in_pause) in_pause();
  return 0;
}

namespace traceagent::ring {
namespace {

thread_local sigjmp_buf* way_out = nullptr;
std::atomic<bool> is_held{false}, may_go_on{false};

// A thread that is at it, in the moment that it looks at a chunk.
void on_fault(int) {
  if (way_out != nullptr) siglongjmp(*way_out, 1);
  is_held = true;
  while (!may_go_on) std::this_thread::yield();
}

class OverwritingTest : public ::testing::Test {
 protected:
  OverwritingTest() {
    struct sigaction action {};
    action.sa_handler = on_fault;
    sigaction(SIGSEGV, &action, &before_);
    target.overwrite = true;
    forget_overwriting();
  }
  ~OverwritingTest() override {
    sigaction(SIGSEGV, &before_, nullptr);
    target.overwrite = false;
    forget_overwriting();
    in_pause = nullptr;
  }

  void set_chunks(int protection) {
    ASSERT_EQ(
        mprotect(&memory_.ring().chunk(0), memory_.ring().chunk_count() * chunk_bytes, protection),
        0);
  }

  void claim() { claim_or_overwrite(memory_.ring(), 1, "main\0\0\0\0\0\0\0\0\0\0\0"); }

  void leave_by_siglongjmp() {
    set_chunks(PROT_NONE);
    sigjmp_buf here;
    if (sigsetjmp(here, 1) == 0) {
      way_out = &here;
      claim();
    }
    way_out = nullptr;
    set_chunks(PROT_READ | PROT_WRITE);
  }

  // A thread that is kept from its core in the middle of it.
  std::thread hold_one() {
    set_chunks(PROT_NONE);
    is_held = may_go_on = false;
    std::thread one([this] { claim(); });
    while (!is_held) std::this_thread::yield();
    return one;
  }
  void let_go_on(std::thread& one) {
    set_chunks(PROT_READ | PROT_WRITE);
    may_go_on = true;
    one.join();
  }

  static int pauses_of_one() {
    pauses = 0;
    is_counting = true;
    { const OverwritingPaused paused; }
    is_counting = false;
    return pauses;
  }

  MemoryRing memory_{1 << 20};
  struct sigaction before_ {};
};

TEST_F(OverwritingTest, WaitsForNobody) {
  claim();
  EXPECT_EQ(pauses_of_one(), 0);
}

TEST_F(OverwritingTest, WaitsOnceForAThreadThatNeverEndsIt) {
  leave_by_siglongjmp();
  EXPECT_GT(pauses_of_one(), 0);
  EXPECT_EQ(pauses_of_one(), 0);
  leave_by_siglongjmp();
  EXPECT_GT(pauses_of_one(), 0) << "another one";
  EXPECT_EQ(pauses_of_one(), 0);
}

TEST_F(OverwritingTest, WaitsForOthersThoughOneNeverEndsIt) {
  leave_by_siglongjmp();
  pauses_of_one();
  std::thread other = hold_one();
  in_pause = [&] {
    if (!may_go_on) let_go_on(other);
  };
  EXPECT_EQ(pauses_of_one(), 1);
  EXPECT_TRUE(may_go_on);
  EXPECT_EQ(pauses_of_one(), 0);
}

// The one that seemed never to end it is no reason to pass by one that has come since.
TEST_F(OverwritingTest, WaitsForOneThatComesWhenAnotherHasEndedItAfterAll) {
  std::thread slow = hold_one();
  EXPECT_GT(pauses_of_one(), 1) << "it is waited for in vain";
  let_go_on(slow);
  std::thread other = hold_one();
  in_pause = [&] {
    if (!may_go_on) let_go_on(other);
  };
  EXPECT_EQ(pauses_of_one(), 1);
  EXPECT_TRUE(may_go_on);
}

TEST_F(OverwritingTest, WaitsForTheLastHoweverManyNeverEndIt) {
  for (int i = 0; i < 40; ++i) {
    leave_by_siglongjmp();
    EXPECT_GT(pauses_of_one(), 0) << i;
  }
}

}  // namespace
}  // namespace traceagent::ring
