#include "agent/ring/writer.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <map>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/unit/ring/recording.hpp"

namespace traceagent::ring {
namespace {

class WriterTest : public RecordingTest {};

void free_retired(const Ring& ring) {
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) free_chunk(ring, ring.chunk(i));
}

TEST_F(WriterTest, RecordsNothingWithoutARing) {
  target.ring = Ring();
  target.generation.fetch_add(1);
  EXPECT_EQ(claim(writer), nullptr);
}

TEST_F(WriterTest, FillsOneChunkAfterTheOther) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  for (std::uint64_t i = 1; i <= records_per_chunk + 1; ++i) record(i, i);
  EXPECT_EQ(published(memory.ring()), records_per_chunk + 1);
  EXPECT_EQ(memory.ring().header().free_chunks.load(), memory.ring().chunk_count() - 2);
  EXPECT_EQ(memory.ring().header().next_claim.load(), 2u);
}

// The chunk that was claimed as the `number`-th, from 1.
const Chunk& claimed_as(const Ring& ring, std::uint64_t number) {
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    if (ring.chunk(i).claim_number.load() == number) return ring.chunk(i);
  }
  throw std::runtime_error("no such chunk");
}

TEST_F(WriterTest, AsksForAThreadsNameOnceInSixteenChunksAndInEachNewRing) {
  MemoryRing memory(4 << 20), next(1 << 20);
  std::thread([&] {
    const auto id = static_cast<std::uint32_t>(gettid());
    pthread_setname_np(pthread_self(), "early");
    record_into(memory.ring());
    record(1, 1);
    pthread_setname_np(pthread_self(), "late");
    for (std::uint64_t i = 2; i <= 17 * records_per_chunk; ++i) record(i, i);
    for (std::uint64_t number = 1; number <= 17; ++number) {
      const Chunk& chunk = claimed_as(memory.ring(), number);
      EXPECT_STREQ(chunk.thread_name, number <= 16 ? "early" : "late") << number;
      EXPECT_EQ(chunk.thread_id.load(), id) << number;
    }
    pthread_setname_np(pthread_self(), "latest");
    record_into(next.ring());
    record(1, 1);
    EXPECT_STREQ(claimed_as(next.ring(), 1).thread_name, "latest");
  }).join();
}

TEST_F(WriterTest, CountsEveryEventThatAFullRingHasNoPlaceFor) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  const std::uint64_t capacity = memory.ring().chunk_count() * records_per_chunk;
  for (std::uint64_t i = 1; i <= capacity + 1234; ++i) record(i, i);
  EXPECT_EQ(published(memory.ring()), capacity);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 1234u);
  // Room again: recording goes on.
  free_retired(memory.ring());
  record(1, 1);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 1234u);
}

TEST_F(WriterTest, OverwriteKeepsTheNewest) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring(), true);
  const std::uint64_t capacity = memory.ring().chunk_count() * records_per_chunk;
  const std::uint64_t total = capacity * 3 + 17;
  for (std::uint64_t i = 1; i <= total; ++i) record(i, i);
  std::uint64_t oldest = UINT64_MAX, newest = 0;
  for (std::uint64_t i = 0; i < memory.ring().chunk_count(); ++i) {
    for (const event::Record& each : memory.ring().chunk(i).records) {
      const std::uint64_t begin = each.begin_ticks.load();
      if (begin == 0) continue;
      oldest = std::min(oldest, begin);
      newest = std::max(newest, begin);
    }
  }
  EXPECT_EQ(newest, total);
  EXPECT_GT(oldest, total - capacity);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 0u);
}

// Its frame is gone, with what lies between.
[[gnu::noinline]] event::Record* claim_deep_in_the_stack() {
  volatile char between[1024];
  between[0] = 0;
  static_cast<void>(between[0]);
  return claim(writer);
}

// What a handler would do that interrupts between a claim and its publishing: the slot it would
// get, or the chunk that it would fill and retire, is the interrupted call's.
TEST_F(WriterTest, ASignalHandlerWithinAClaimIsGivenNothing) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  event::Record* interrupted = claim(writer);
  ASSERT_NE(interrupted, nullptr);
  EXPECT_EQ(claim_deep_in_the_stack(), nullptr);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 1u) << "counted as lost";
  publish(*interrupted, 1);
  record(2, 2);
  EXPECT_EQ(published(memory.ring()), 2u);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 1u);
}

TEST_F(WriterTest, AHandlerThatJumpsOutOfAClaimDoesNotEndTheRecording) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  ASSERT_NE(claim_deep_in_the_stack(), nullptr);
  for (std::uint64_t i = 1; i <= 200; ++i) record(i, i);
  EXPECT_EQ(published(memory.ring()), 200u);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 0u);
}

[[gnu::noinline]] void record_often(std::uint64_t calls) {
  for (std::uint64_t i = 1; i <= calls; ++i) record(i, i);
}

TEST_F(WriterTest, AHandlerIsGivenNothingHoweverOftenItRecords) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  event::Record* interrupted = claim(writer);
  ASSERT_NE(interrupted, nullptr);
  record_often(1000);
  EXPECT_EQ(published(memory.ring()), 0u);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 1000u);
  publish(*interrupted, 1);
  record_often(1000);
  EXPECT_EQ(published(memory.ring()), 1001u);
}

// It may lie above what it interrupts, as if that had been left.
TEST_F(WriterTest, AHandlerOnAnAlternateStackIsGivenNothing) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  std::thread([] {
    alignas(16) char above[32 * 1024];
    stack_t stack{};
    stack.ss_sp = above;
    stack.ss_size = sizeof above;
    ASSERT_EQ(sigaltstack(&stack, nullptr), 0);
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) { record_often(100); };
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR1, &action, &before);
    event::Record* interrupted = claim_deep_in_the_stack();
    raise(SIGUSR1);
    publish(*interrupted, 1);
    sigaction(SIGUSR1, &before, nullptr);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, nullptr);
  }).join();
  EXPECT_EQ(published(memory.ring()), 1u);
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 100u);
}

TEST_F(WriterTest, AFullRingLeavesNoClaimOpen) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  const std::uint64_t capacity = memory.ring().chunk_count() * records_per_chunk;
  for (std::uint64_t i = 1; i <= capacity; ++i) record(i, i);
  EXPECT_EQ(claim(writer), nullptr);
  EXPECT_EQ(writer.filling, 0u);
}

TEST_F(WriterTest, LeavesErrnoAlone) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  const std::uint64_t more_than_fit = (memory.ring().chunk_count() + 1) * records_per_chunk;
  errno = ENOENT;
  for (std::uint64_t i = 1; i <= more_than_fit; ++i) record(i, i);
  EXPECT_EQ(errno, ENOENT);
}

TEST_F(WriterTest, ANewGenerationLeavesTheOldRingUntouched) {
  MemoryRing parents(1 << 20);
  MemoryRing own(1 << 20);
  record_into(parents.ring());
  record(1, 1);
  record_into(own.ring());
  for (std::uint64_t i = 1; i <= 5; ++i) record(i, i);
  EXPECT_EQ(published(parents.ring()), 1u);
  EXPECT_EQ(published(own.ring()), 5u);
  EXPECT_EQ(parents.ring().chunk(0).state.load(), ChunkState::owned) << "it is the parent's";
}

TEST_F(WriterTest, AThreadThatEndsGivesItsChunkBack) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  std::thread([] { record(1, 1); }).join();
  EXPECT_EQ(memory.ring().chunk(0).state.load(), ChunkState::retired);
  EXPECT_EQ(published(memory.ring()), 1u) << "what it wrote stays";
}

// A destructor of the job's own may still make a call after ours ran: it must not leak a chunk.
TEST_F(WriterTest, ACallFromAThreadsLastDestructorsLeaksNoChunk) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  pthread_key_t late;
  ASSERT_EQ(pthread_key_create(&late, [](void*) { record(7, 7); }), 0);
  std::thread([&] {
    record(1, 1);
    pthread_setspecific(late, &memory);
  }).join();
  pthread_key_delete(late);
  for (std::uint64_t i = 0; i < memory.ring().chunk_count(); ++i) {
    EXPECT_NE(memory.ring().chunk(i).state.load(), ChunkState::owned);
  }
  EXPECT_EQ(published(memory.ring()), 2u);
}

TEST_F(WriterTest, TenThousandShortThreadsLoseNothingWhileTheDrainFrees) {
  MemoryRing memory(1 << 20);
  record_into(memory.ring());
  constexpr int threads = 10'000;
  for (int i = 0; i < threads; ++i) {
    std::thread([] { record(1, 1); }).join();
    if (i % 8 == 7) free_retired(memory.ring());
  }
  free_retired(memory.ring());
  EXPECT_EQ(memory.dropped(DropCause::ring_full), 0u);
  EXPECT_EQ(memory.ring().header().next_claim.load(), static_cast<std::uint64_t>(threads));
  EXPECT_EQ(memory.ring().header().free_chunks.load(), memory.ring().chunk_count());
}

// Writers go round a tiny ring many times while a reader takes records out and frees chunks: what
// was claimed is read once or counted as dropped, whole and in each thread's order.
TEST_F(WriterTest, ManyThreadsRoundATinyRingWithAReader) {
  MemoryRing memory(512 * 1024);
  const Ring& ring = memory.ring();
  record_into(ring);
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t each_records = 60'000;
  std::atomic<std::uint64_t> running{threads};
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    writers.emplace_back([&, t] {
      for (std::uint64_t i = 1; i <= each_records; ++i) {
        event::Record* slot = claim(writer);
        if (slot == nullptr) continue;
        slot->args[0] = t;
        slot->args[1] = i;
        slot->args[2] = ~(t << 32 | i);
        publish(*slot, i);
        slot->end_ticks.store(i, std::memory_order_release);
      }
      running.fetch_sub(1);
    });
  }
  std::uint64_t seen = 0, torn = 0;
  const auto look = [&](const Chunk& chunk, bool last) {
    for (const event::Record& each : chunk.records) {
      if (each.begin_ticks.load(std::memory_order_acquire) == 0) continue;
      if (each.args[2] != ~(each.args[0] << 32 | each.args[1])) ++torn;
      if (last) ++seen;
    }
  };
  bool last_round = false;
  while (!last_round) {
    last_round = running.load() == 0;
    if (last_round) {
      for (std::thread& thread : writers) thread.join();
    }
    for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
      Chunk& chunk = ring.chunk(i);
      const ChunkState state = chunk.state.load(std::memory_order_acquire);
      if (state == ChunkState::free) continue;
      const bool retired = state == ChunkState::retired;
      look(chunk, retired);
      if (retired) {
        EXPECT_TRUE(free_chunk(ring, chunk));
      }
    }
  }
  EXPECT_EQ(torn, 0u);
  EXPECT_EQ(seen + memory.dropped(DropCause::ring_full), threads * each_records);
  EXPECT_GT(seen, 0u);
  EXPECT_EQ(ring.header().free_chunks.load(), ring.chunk_count());
}

TEST_F(WriterTest, ManyThreadsOverwriteATinyRing) {
  MemoryRing memory(512 * 1024);
  record_into(memory.ring(), true);
  constexpr std::uint64_t threads = 4;
  constexpr std::uint64_t each_records = 50'000;
  std::vector<std::thread> writers;
  for (std::uint64_t t = 0; t < threads; ++t) {
    writers.emplace_back([t] {
      for (std::uint64_t i = 1; i <= each_records; ++i) record(i, t);
    });
  }
  for (std::thread& thread : writers) thread.join();
  // Without a window that wants them overwritten records are no loss: only what is there counts.
  std::map<std::uint64_t, std::uint64_t> newest;
  for (std::uint64_t i = 0; i < memory.ring().chunk_count(); ++i) {
    for (const event::Record& each : memory.ring().chunk(i).records) {
      if (each.begin_ticks.load() == 0) continue;
      ASSERT_LT(each.args[0], threads);
      EXPECT_EQ(each.end_ticks.load(), each.begin_ticks.load() + 1);
      newest[each.args[0]] = std::max(newest[each.args[0]], each.begin_ticks.load());
    }
  }
  EXPECT_GE(newest.size(), 1u);
}

}  // namespace
}  // namespace traceagent::ring
