#include "agent/process/unwritten_windows.hpp"

#include <gtest/gtest.h>

#include "agent/drain/late_losses.hpp"
#include "agent/process/agent.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::process {
namespace {

using ring::WindowState;

constexpr auto not_written = static_cast<std::size_t>(ring::DropCause::not_written);
constexpr auto ring_full = static_cast<std::size_t>(ring::DropCause::ring_full);
constexpr auto device_dropped = static_cast<std::size_t>(ring::DropCause::device_dropped);
constexpr auto names_full = static_cast<std::size_t>(ring::DropCause::names_full);

class UnwrittenWindowsTest : public ::testing::Test {
 protected:
  UnwrittenWindowsTest() {
    agent_.ring.ring = memory_.ring();
    header().nominal_ns_per_tick = 1.0;
    ring::add_anchor(memory_.ring().header(), {1, 1'700'000'000'000'000'000, 25});
  }

  ring::Header& header() { return memory_.ring().header(); }

  ring::Window& window(std::size_t slot, std::uint64_t begin, std::uint64_t end,
                       WindowState state) {
    ring::Window& window = header().windows[slot];
    window.begin_ticks = begin;
    window.end_ticks = end;
    window.state = state;
    return window;
  }

  // Calls that begin at `from`, `from` + 1, …
  void record(std::uint64_t from, std::size_t count) {
    ring::Chunk* chunk = ring::claim_chunk(memory_.ring(), 1, "main\0\0\0\0\0\0\0\0\0\0\0", false);
    for (std::size_t i = 0; i < count; ++i) ring::write_record(*chunk, i, from + i, from + i + 1);
  }

  // What its file says was given up, or was lost by another cause.
  std::uint64_t told_by(ring::Window& window, std::size_t cause = not_written) {
    drain::settle_late_losses(memory_.ring(), window);
    return ring::dropped_in(memory_.ring(), window)[cause];
  }

  // After told_by().
  void write(ring::Window& window) {
    drain::note_told(memory_.ring(), window);
    window.state = WindowState::written;
  }

  // In the slot that is used next, as the job opens and closes one.
  ring::Window& next_window() {
    const std::uint32_t number = header().window_count++;
    const std::uint64_t begin = 1000 * (number + 1);
    ring::Window& next = window(number % ring::window_slots, begin, 0, WindowState::open);
    ring::note_dropped(memory_.ring(), next.dropped_at_begin);
    return next;
  }

  void close(ring::Window& window) {
    window.end_ticks = window.begin_ticks + 500;
    ring::note_dropped(memory_.ring(), window.dropped_at_end);
    window.state = WindowState::closed;
  }

  ring::Window& failed_window() {
    ring::Window& failed = next_window();
    close(failed);
    failed.state = WindowState::failed;
    return failed;
  }

  void lose_on_device(std::uint64_t records) {
    memory_.ring().count_drop(ring::DropCause::device_dropped, records);
  }

  ring::MemoryRing memory_{2 << 20};
  Agent agent_;
  UnwrittenWindows unwritten_{agent_};
};

TEST_F(UnwrittenWindowsTest, StayInTheHalfThatIsFree) {
  window(0, 500, 600, WindowState::failed);
  window(1, 100, 200, WindowState::failed);
  window(2, 700, 800, WindowState::closed);
  window(3, 5, 9, WindowState::written);
  header().window_count = 4;
  const std::uint64_t half = header().chunk_count / 2;
  header().free_chunks = half;
  EXPECT_EQ(unwritten_.beyond_room(), nullptr);
  header().free_chunks = half - 1;
  EXPECT_EQ(unwritten_.beyond_room(), &header().windows[1]) << "the oldest";
}

// Something is still to come for it, and its chunks lie before theirs.
TEST_F(UnwrittenWindowsTest, StayWhereAnOlderWindowHoldsTheChunks) {
  header().window_count = 3;
  header().free_chunks = header().chunk_count / 2 - 1;
  ring::Window& failed = window(0, 100, 200, WindowState::failed);
  ring::Window& older = window(1, 10, 20, WindowState::closed);
  EXPECT_EQ(unwritten_.beyond_room(), nullptr);
  older.state = WindowState::written;
  EXPECT_EQ(unwritten_.beyond_room(), &failed);
  older.state = WindowState::closed;
  header().window_count = ring::window_slots;
  EXPECT_EQ(unwritten_.beyond_room(), &failed) << "its slot is needed";
}

TEST_F(UnwrittenWindowsTest, GoWhereTheirSlotIsSoonUsedAgain) {
  constexpr std::uint32_t slots = ring::window_slots, slot = 5;
  ring::Window& failed = window(slot, 10, 20, WindowState::failed);
  header().window_count = slot + 1;
  EXPECT_EQ(unwritten_.beyond_room(), nullptr) << "just used";
  header().window_count = slots + slot - slots / 4;
  EXPECT_EQ(unwritten_.beyond_room(), nullptr);
  header().window_count = slots + slot - slots / 4 + 1;
  EXPECT_EQ(unwritten_.beyond_room(), &failed);
  header().window_count = slots + slot;
  EXPECT_EQ(unwritten_.beyond_room(), &failed) << "no cycle would find a slot";
}

TEST_F(UnwrittenWindowsTest, TakeAQuarterOfTheSlots) {
  header().window_count = ring::window_slots / 4 + 1;
  for (std::size_t i = 0; i < ring::window_slots / 4; ++i) {
    window(i, 1000 - i, 2000, WindowState::failed);
  }
  EXPECT_EQ(unwritten_.beyond_room(), nullptr);
  ring::Window& oldest = window(ring::window_slots / 4, 7, 8, WindowState::failed);
  EXPECT_EQ(unwritten_.beyond_room(), &oldest);
}

TEST_F(UnwrittenWindowsTest, ToldOnceByTheNextFile) {
  record(100, 30);
  record(300, 12);
  header().last_correlation[0] = 50;
  unwritten_.give_up(window(0, 110, 120, WindowState::failed));
  EXPECT_EQ(header().windows[0].state.load(), WindowState::written);
  EXPECT_EQ(header().last_correlation[0].load(), 0u) << "no file has its calls";
  ring::Window& second = window(1, 300, 400, WindowState::closed);
  EXPECT_EQ(told_by(second), 10u);
  second.state = WindowState::failed;
  ring::Window& third = window(2, 500, 600, WindowState::closed);
  unwritten_.give_up(second);
  EXPECT_EQ(told_by(third), 22u) << "with what the second was to tell";
  write(third);
  EXPECT_EQ(told_by(window(3, 700, 800, WindowState::closed)), 0u);
}

// It was given up while the next window was open already, and the one after that has begun since.
TEST_F(UnwrittenWindowsTest, ToldByAWindowThatBeganLater) {
  record(100, 30);
  unwritten_.give_up(window(0, 110, 120, WindowState::failed));
  ring::Window& later = window(1, 300, 0, WindowState::open);
  ring::note_dropped(memory_.ring(), later.dropped_at_begin);
  later.end_ticks = 400;
  ring::note_dropped(memory_.ring(), later.dropped_at_end);
  later.state = WindowState::closed;
  EXPECT_EQ(told_by(later), 10u);
}

// One that the budget leaves out has no file either.
TEST_F(UnwrittenWindowsTest, ToldByTheFileAfterAWindowThatIsLeftOut) {
  record(100, 30);
  unwritten_.give_up(window(0, 110, 120, WindowState::failed));
  ring::Window& left_out = window(1, 300, 400, WindowState::closed);
  ring::note_dropped(memory_.ring(), left_out.dropped_at_end);
  EXPECT_EQ(told_by(left_out), 10u);
  left_out.state = WindowState::written;
  EXPECT_EQ(drain::untold_events(memory_.ring()), 10u);
  ring::Window& next = window(2, 500, 600, WindowState::closed);
  EXPECT_EQ(told_by(next), 10u);
  write(next);
  EXPECT_EQ(drain::untold_events(memory_.ring()), 0u);
}

TEST_F(UnwrittenWindowsTest, TheirDevicesLossesAreToldByALaterFileThatComesFirst) {
  ring::Window& failed = next_window();
  lose_on_device(5);
  close(failed);
  lose_on_device(3);  // its own, told by CUPTI a moment later
  EXPECT_EQ(told_by(failed, device_dropped), 8u);
  failed.state = WindowState::failed;
  ring::Window& later = next_window();
  lose_on_device(1);
  close(later);
  EXPECT_EQ(told_by(later, device_dropped), 9u);
  write(later);
  failed.state = WindowState::closed;
  EXPECT_EQ(told_by(failed, device_dropped), 0u) << "at its next try";
  lose_on_device(2);
  EXPECT_EQ(told_by(failed, device_dropped), 2u);
}

TEST_F(UnwrittenWindowsTest, TheirDevicesLossesAreToldByTheirOwnNextTry) {
  ring::Window& failed = failed_window();
  lose_on_device(5);
  ring::Window& later = next_window();
  failed.state = WindowState::closed;
  EXPECT_EQ(told_by(failed, device_dropped), 5u);
  write(failed);
  lose_on_device(1);
  close(later);
  EXPECT_EQ(told_by(later, device_dropped), 1u);
}

TEST_F(UnwrittenWindowsTest, TheirDevicesLossesAreGivenUpWithThem) {
  ring::Window& first = next_window();
  lose_on_device(5);
  close(first);
  first.state = WindowState::failed;
  ring::Window& second = next_window();
  lose_on_device(3);
  close(second);
  unwritten_.give_up(first);
  EXPECT_EQ(told_by(second), 5u);
  EXPECT_EQ(ring::dropped_in(memory_.ring(), second)[device_dropped], 3u) << "its own";
  second.state = WindowState::failed;
  lose_on_device(2);
  unwritten_.give_up(second);
  ring::Window& third = next_window();
  close(third);
  EXPECT_EQ(told_by(third), 10u);
  EXPECT_EQ(ring::dropped_in(memory_.ring(), third)[device_dropped], 0u);
}

TEST_F(UnwrittenWindowsTest, AreGivenUpWithoutWhatTheDeviceLostInTheOneThatIsOpen) {
  ring::Window& first = next_window();
  lose_on_device(5);
  close(first);
  first.state = WindowState::failed;
  ring::Window& second = next_window();
  lose_on_device(100);
  unwritten_.give_up(first);
  lose_on_device(7);
  close(second);
  EXPECT_EQ(told_by(second), 5u);
  EXPECT_EQ(ring::dropped_in(memory_.ring(), second)[device_dropped], 107u) << "its own";
}

// Between windows nothing is wanted of the device.
TEST_F(UnwrittenWindowsTest, NobodyTellsOfWhatTheDeviceLostOutsideOfWindows) {
  ring::Window& first = next_window();
  close(first);
  EXPECT_EQ(told_by(first, device_dropped), 0u);
  write(first);
  lose_on_device(4);
  ring::Window& second = next_window();
  close(second);
  EXPECT_EQ(told_by(second, device_dropped), 0u);
}

TEST_F(UnwrittenWindowsTest, TellOfWhatTheyHadLostThemselves) {
  record(100, 30);
  ring::Window& lost = window(0, 110, 120, WindowState::failed);
  lost.dropped_at_begin[ring_full] = 4;
  lost.dropped_at_end[ring_full] = 9;
  lost.dropped_at_end[names_full] = 100;  // no event is lost with a name
  memory_.ring().count_drop(ring::DropCause::names_full, 100);
  unwritten_.give_up(lost);
  EXPECT_EQ(told_by(window(1, 300, 400, WindowState::closed)), 15u);
}

TEST_F(UnwrittenWindowsTest, AreTriedAgain) {
  window(0, 1, 2, WindowState::failed);
  window(1, 3, 4, WindowState::written);
  window(2, 5, 6, WindowState::open);
  unwritten_.try_again();
  EXPECT_EQ(header().windows[0].state.load(), WindowState::closed);
  EXPECT_EQ(header().windows[1].state.load(), WindowState::written);
  EXPECT_EQ(header().windows[2].state.load(), WindowState::open);
}

TEST_F(UnwrittenWindowsTest, KeepTheRingThatHasAFile) {
  agent_.ring.path = "/nowhere/0-1-0.ring";
  window(0, 1, 2, WindowState::failed);
  unwritten_.keep_ring();
  EXPECT_EQ(agent_.kept_rings, std::vector<std::string>{"/nowhere/0-1-0.ring"});
  EXPECT_TRUE(ring::has_unwritten_window(memory_.ring()));
}

// Something was still to come for it when the process ended, so that it was never tried.
TEST_F(UnwrittenWindowsTest, KeepTheRingOfOneThatWasNeverTried) {
  agent_.ring.path = "/nowhere/0-1-0.ring";
  window(0, 1, 2, WindowState::closed);
  unwritten_.keep_ring();
  EXPECT_EQ(agent_.kept_rings, std::vector<std::string>{"/nowhere/0-1-0.ring"});
}

TEST_F(UnwrittenWindowsTest, AreLostWithPrivateMemory) {
  window(0, 1, 2, WindowState::failed);
  unwritten_.keep_ring();
  EXPECT_TRUE(agent_.kept_rings.empty());
  EXPECT_FALSE(ring::has_unwritten_window(memory_.ring()));
}

}  // namespace
}  // namespace traceagent::process
