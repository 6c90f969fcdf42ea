#include "agent/drain/late_losses.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/unit/ring/each_moment.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::drain {
namespace {

using ring::DropCause;
using ring::WindowState;

constexpr std::uint64_t events = 10, device_losses = 3;

class GivingUpTest : public ::testing::Test {
 protected:
  // The device loses some of the first window's, which has failed; the second is yet to be written.
  GivingUpTest() {
    open(failed(), 1000);
    memory_.ring().count_drop(DropCause::device_dropped, device_losses);
    close(failed(), WindowState::failed);
    open(later(), 2000);
    close(later(), WindowState::closed);
  }

  ring::Window& failed() { return memory_.ring().header().windows[0]; }
  ring::Window& later() { return memory_.ring().header().windows[1]; }

  void open(ring::Window& window, std::uint64_t ticks) {
    window.begin_ticks = ticks;
    ring::note_dropped(memory_.ring(), window.dropped_at_begin);
    window.state = WindowState::open;
  }
  void close(ring::Window& window, WindowState state) {
    window.end_ticks = window.begin_ticks + 500;
    ring::note_dropped(memory_.ring(), window.dropped_at_end);
    window.state = state;
  }

  ring::MemoryRing memory_{1};
};

TEST_F(GivingUpTest, IsToldOnce) {
  const ring::Ring& ring = memory_.ring();
  ring::last_correlation_of(ring, failed()) = 7;
  EXPECT_EQ(give_up(ring, failed(), events), events + device_losses);
  for (int time = 0; time < 2; ++time) {
    EXPECT_EQ(failed().state.load(), WindowState::written);
    EXPECT_EQ(untold_events(ring), events + device_losses);
    EXPECT_EQ(losses_told(ring, later(), DropCause::device_dropped), device_losses);
    EXPECT_EQ(ring::last_correlation_of(ring, failed()).load(), 0u) << "no file has its calls";
    // A kill may strike when all is done but that.
    failed().state = WindowState::giving_up;
    EXPECT_TRUE(ring::is_in_use(failed())) << "the job must not open a window there";
    EXPECT_FALSE(ring::is_unwritten(failed()));
    finish_giving_up(ring);
  }
}

// What is in no file is told once, and what will be in one is not told.
TEST_F(GivingUpTest, AKillLeavesItAsItWasOrGivenUp) {
  std::vector<std::byte> dead(sizeof(ring::Header));
  std::uint64_t as_it_was = 0, given_up = 0, bad = 0;
  // As who recovers it finds it.
  const auto look = [&] {
    ring::Ring ring = memory_.ring();
    if (failed().state.load() == WindowState::giving_up) {
      std::memcpy(dead.data(), &ring.header(), dead.size());
      ring = ring::Ring(dead.data());
      finish_giving_up(ring);
    }
    const auto& windows = ring.header().windows;
    const bool is_kept = windows[0].state.load() == WindowState::failed;
    bad +=
        untold_events(ring) != (is_kept ? 0 : events + device_losses) ||
        losses_told(ring, windows[1], DropCause::device_dropped) != (is_kept ? 0 : device_losses);
    ++(is_kept ? as_it_was : given_up);
  };
  const auto run = [&] { give_up(memory_.ring(), failed(), events); };
  if (!at_each_moment(run, look)) GTEST_SKIP() << "nobody may be traced here";
  EXPECT_EQ(bad, 0u);
  EXPECT_GT(as_it_was, 0u);
  EXPECT_GT(given_up, 0u);
}

}  // namespace
}  // namespace traceagent::drain
