#include "agent/drain/window_events.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>

#include "tests/unit/drain/crafted_device.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::Layout;

std::uint64_t begin_of(const event::Record* record) { return record->begin_ticks.load(); }

TEST(Collect, TakesWhatBeganWithinTheWindow) {
  CraftedRing crafted;
  ring::Chunk& chunk = crafted.chunk_of(7, "python");
  for (const std::uint64_t begin : {99, 100, 150, 199, 200}) {
    crafted.add(chunk, Function::cudaMalloc, Layout::allocation, begin, begin + 500);
  }
  const auto threads = collect(crafted.ring(), 100, 200);
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0].thread_id, 7u);
  EXPECT_EQ(threads[0].thread_name, "python");
  ASSERT_EQ(threads[0].records.size(), 3u);
  EXPECT_EQ(begin_of(threads[0].records[0]), 100u);
  EXPECT_EQ(begin_of(threads[0].records[2]), 199u);
  EXPECT_TRUE(collect(crafted.ring(), 300, 400).empty());
}

TEST(CountEvents, CountsCallsAndWorkOfTheWindow) {
  CraftedDevice crafted;
  ring::Chunk& chunk = crafted.chunk_of(7, "python");
  for (const std::uint64_t begin : {99, 100, 199, 200}) {
    crafted.add(chunk, Function::cudaMalloc, Layout::allocation, begin, begin + 500);
  }
  for (const std::int64_t start : {99, 100, 150, 199, 200}) crafted.kernel("k", start, 900, 1);
  crafted.api(7, "cudaLaunchKernel", 150, 160, 1);
  const auto count = [&](std::uint64_t begin, std::uint64_t end) {
    return count_events(crafted.ring(), begin, end, epoch_ns + static_cast<std::int64_t>(begin),
                        epoch_ns + static_cast<std::int64_t>(end));
  };
  EXPECT_EQ(count(100, 200), 2u + 3u);
  EXPECT_EQ(count(300, 400), 0u);
}

TEST(Collect, JoinsAThreadsChunksInTheOrderOfTheirClaim) {
  CraftedRing crafted;
  ring::Chunk& first = crafted.chunk_of(7, "python");
  ring::Chunk& others = crafted.chunk_of(8, "loader");
  ring::Chunk& second = crafted.chunk_of(7, "pt_main");
  crafted.add(second, Function::cudaFree, Layout::allocation, 30, 31);
  crafted.add(first, Function::cudaFree, Layout::allocation, 10, 11);
  crafted.add(others, Function::cudaFree, Layout::allocation, 20, 21);
  ring::retire_chunk(first);
  const auto threads = collect(crafted.ring(), 1, 1000);
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].thread_name, "pt_main") << "the newest name";
  ASSERT_EQ(threads[0].records.size(), 2u);
  EXPECT_EQ(begin_of(threads[0].records[0]), 10u);
  EXPECT_EQ(begin_of(threads[0].records[1]), 30u);
}

TEST(Collect, OrdersWhatASignalHandlerRecordedInBetween) {
  CraftedRing crafted;
  ring::Chunk& chunk = crafted.chunk_of(7, "python");
  crafted.add(chunk, Function::cudaFree, Layout::allocation, 20, 25);
  crafted.add(chunk, Function::cudaFree, Layout::allocation, 10, 15);
  const auto threads = collect(crafted.ring(), 1, 1000);
  EXPECT_EQ(begin_of(threads.at(0).records.at(0)), 10u);
}

TEST(Collect, SkipsAChunkBetweenTwoOwners) {
  CraftedRing crafted;
  ring::Chunk& chunk = crafted.chunk_of(7, "python");
  crafted.add(chunk, Function::cudaFree, Layout::allocation, 20, 25);
  chunk.claim_number.store(0);
  EXPECT_TRUE(collect(crafted.ring(), 1, 1000).empty());
}

TEST(ForEachInOrder, MergesAllThreads) {
  CraftedRing crafted;
  std::mt19937 random(7);
  std::multiset<std::uint64_t> expected;
  for (std::uint32_t thread = 1; thread <= 9; ++thread) {
    ring::Chunk& chunk = crafted.chunk_of(thread, "t");
    std::uint64_t at = 1 + random() % 100;
    for (unsigned i = 0; i < 40 * thread; ++i, at += random() % 50) {
      crafted.add(chunk, Function::cudaFree, Layout::allocation, at, at + 1);
      expected.insert(at);
    }
  }
  const auto threads = collect(crafted.ring(), 1, UINT64_MAX);
  std::vector<std::uint64_t> seen;
  std::vector<std::size_t> of_thread(threads.size());
  for_each_in_order(threads, [&](std::size_t thread, const event::Record& record) {
    seen.push_back(begin_of(&record));
    EXPECT_EQ(&record, threads[thread].records.at(of_thread[thread]++));
  });
  EXPECT_EQ(seen, std::vector<std::uint64_t>(expected.begin(), expected.end()));
}

TEST(ForEachInOrder, VisitsNothingWithoutThreads) {
  for_each_in_order({}, [](std::size_t, const event::Record&) { FAIL(); });
}

TEST(FreeChunks, KeepsWhatIsStillNeeded) {
  CraftedRing crafted;
  ring::Chunk& done = crafted.chunk_of(1, "done");
  crafted.add(done, Function::cudaFree, Layout::allocation, 10, 20);
  ring::Chunk& running = crafted.chunk_of(2, "running");
  crafted.add(running, Function::cudaFree, Layout::allocation, 10, 0);
  ring::Chunk& young = crafted.chunk_of(3, "young");
  crafted.add(young, Function::cudaFree, Layout::allocation, 100, 110);
  ring::Chunk& owned = crafted.chunk_of(4, "owned");
  crafted.add(owned, Function::cudaFree, Layout::allocation, 10, 20);
  for (ring::Chunk* chunk : {&done, &running, &young}) ring::retire_chunk(*chunk);
  const RetiredChunks chunks = free_chunks_before(crafted.ring(), 100);
  EXPECT_EQ(chunks.freed, 1u);
  EXPECT_EQ(chunks.kept, 2u);
  EXPECT_EQ(done.state.load(), ring::ChunkState::free);
  EXPECT_EQ(running.state.load(), ring::ChunkState::retired);
  EXPECT_EQ(young.state.load(), ring::ChunkState::retired);
  EXPECT_EQ(owned.state.load(), ring::ChunkState::owned);
  running.records[0].end_ticks.store(50);
  EXPECT_EQ(free_chunks_before(crafted.ring(), 101).freed, 2u);
}

TEST(Correlation, IsUniqueAlsoAfterAChunkIsUsedAgain) {
  CraftedRing crafted;
  std::set<std::uint64_t> seen;
  for (int round = 0; round < 50; ++round) {
    ring::Chunk& chunk = crafted.chunk_of(1, "t");
    for (const event::Record& record : chunk.records) {
      EXPECT_TRUE(seen.insert(correlation_of(crafted.ring(), record)).second);
    }
    ring::retire_chunk(chunk);
    free_chunks_before(crafted.ring(), 1);
  }
  EXPECT_FALSE(seen.contains(0));
}

}  // namespace
}  // namespace traceagent::drain
