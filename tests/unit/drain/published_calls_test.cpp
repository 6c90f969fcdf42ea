#include "agent/drain/published_calls.hpp"

#include <gtest/gtest.h>

#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

void publish(ring::Chunk& chunk, std::size_t from, std::size_t until,
             event::Layout layout = event::Layout::launch) {
  for (std::size_t slot = from; slot < until; ++slot) {
    chunk.records[slot].layout = layout;
    ring::write_record(chunk, slot, 1000 + slot, 1001 + slot);
  }
}

TEST(PublishedCalls, CountsTheBusiestThreadOnce) {
  CraftedRing crafted;
  PublishedCalls calls(crafted.ring());
  ring::Chunk& busy = crafted.chunk_of(7, "busy");
  ring::Chunk& lazy = crafted.chunk_of(8, "lazy");
  publish(busy, 0, 100);
  publish(lazy, 0, 30);
  EXPECT_EQ(calls.busiest_since_last(), 100U);
  EXPECT_EQ(calls.busiest_since_last(), 0U);
  publish(lazy, 30, 90);
  EXPECT_EQ(calls.busiest_since_last(), 60U);
}

TEST(PublishedCalls, AddsAThreadsChunks) {
  CraftedRing crafted;
  PublishedCalls calls(crafted.ring());
  ring::Chunk& full = crafted.chunk_of(7, "busy");
  publish(full, 0, ring::records_per_chunk);
  ring::retire_chunk(full);
  publish(crafted.chunk_of(7, "busy"), 0, 1);
  EXPECT_EQ(calls.busiest_since_last(), ring::records_per_chunk + 1);
}

TEST(PublishedCalls, CountsAChunkThatIsUsedAgain) {
  CraftedRing crafted;
  PublishedCalls calls(crafted.ring());
  ring::Chunk& chunk = crafted.chunk_of(7, "busy");
  publish(chunk, 0, 50);
  EXPECT_EQ(calls.busiest_since_last(), 50U);
  ring::retire_chunk(chunk);
  ASSERT_TRUE(ring::free_chunk(crafted.ring(), chunk));
  EXPECT_EQ(calls.busiest_since_last(), 0U);
  ring::Chunk* again = &chunk;
  do {
    again = &crafted.chunk_of(9, "other");
  } while (again != &chunk);
  publish(*again, 0, 20);
  EXPECT_EQ(calls.busiest_since_last(), 20U);
}

TEST(PublishedCalls, FollowsTheRingRoundAndRound) {
  CraftedRing crafted;
  PublishedCalls calls(crafted.ring());
  // Kept for long, so that claims go past it each time.
  ring::Chunk& kept = crafted.chunk_of(7, "lazy");
  publish(kept, 0, 1);
  EXPECT_EQ(calls.busiest_since_last(), 1U);
  const std::uint64_t turns = 3 * crafted.ring().chunk_count();
  for (std::uint64_t turn = 0; turn < turns; ++turn) {
    ring::Chunk& chunk = crafted.chunk_of(8, "busy");
    publish(chunk, 0, 40);
    EXPECT_EQ(calls.busiest_since_last(), 40U) << turn;
    publish(chunk, 40, 70);
    EXPECT_EQ(calls.busiest_since_last(), 30U) << turn;
    ring::retire_chunk(chunk);
    ASSERT_TRUE(ring::free_chunk(crafted.ring(), chunk));
  }
  publish(kept, 1, 100);
  EXPECT_EQ(calls.busiest_since_last(), 99U);
}

// Between two looks: its records of before are not known any more, and count as a full chunk.
TEST(PublishedCalls, CountsAChunkThatWasUsedTwiceSince) {
  CraftedRing crafted;
  PublishedCalls calls(crafted.ring());
  ring::Chunk* chunk = &crafted.chunk_of(7, "one");
  publish(*chunk, 0, 10);
  EXPECT_EQ(calls.busiest_since_last(), 10U);
  for (int use = 0; use < 2; ++use) {
    ring::retire_chunk(*chunk);
    ASSERT_TRUE(ring::free_chunk(crafted.ring(), *chunk));
    chunk = &crafted.chunk_of(7, "one");
    publish(*chunk, 0, 20);
  }
  EXPECT_EQ(calls.busiest_since_last(), 20U + ring::records_per_chunk);
  publish(*chunk, 20, 50);
  EXPECT_EQ(calls.busiest_since_last(), 30U);
}

TEST(PublishedCalls, CountsWhatFoundNoRoom) {
  CraftedRing crafted;
  PublishedCalls calls(crafted.ring());
  crafted.ring().count_drop(ring::DropCause::ring_full, 5);
  EXPECT_EQ(calls.busiest_since_last(), 5U);
  EXPECT_EQ(calls.busiest_since_last(), 0U);
}

TEST(PublishedCalls, LeavesOutWhatTheDeviceDid) {
  CraftedRing crafted;
  PublishedCalls calls(crafted.ring());
  publish(crafted.chunk_of(7, "cupti"), 0, 80, event::Layout::device_work);
  publish(crafted.chunk_of(8, "job"), 0, 3);
  EXPECT_EQ(calls.busiest_since_last(), 3U);
}

}  // namespace
}  // namespace traceagent::drain
