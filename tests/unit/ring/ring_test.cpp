#include "agent/ring/ring.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <string>

#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::ring {
namespace {

constexpr ThreadName no_name = "thread";

TEST(Divide, UsesWhatIsWanted) {
  const std::uint64_t wanted = 64 << 20;
  const Sizes sizes = divide(wanted);
  EXPECT_EQ(sizes.names_bytes, wanted / 16);
  EXPECT_LE(sizes.file_bytes, wanted);
  EXPECT_GT(sizes.file_bytes + chunk_bytes, wanted);
}

TEST(Divide, GivesTwoChunksHoweverLittleIsWanted) {
  for (const std::uint64_t wanted : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{300'000}}) {
    const Sizes sizes = divide(wanted);
    EXPECT_GE(sizes.chunk_count, 2u);
    EXPECT_GE(sizes.names_bytes, 64u * 1024);
    EXPECT_GE(sizes.file_bytes,
              sizeof(Header) + sizes.names_bytes + sizes.chunk_count * sizeof(Chunk));
  }
}

TEST(Format, LaysEverythingWithinTheFile) {
  MemoryRing memory(1 << 20);
  const Header& header = memory.ring().header();
  EXPECT_EQ(header.magic, magic);
  EXPECT_EQ(header.layout_version, layout_version);
  EXPECT_EQ(header.ready.load(), 0u);
  EXPECT_GE(header.names_offset, sizeof(Header));
  EXPECT_EQ(header.chunks_offset, header.names_offset + header.names_bytes);
  EXPECT_EQ(header.chunks_offset % alignof(Chunk), 0u);
  EXPECT_EQ(header.chunks_offset + header.chunk_count * chunk_bytes, header.file_bytes);
  EXPECT_EQ(header.free_chunks.load(), header.chunk_count);
}

TEST(Names, AreReadBack) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  const std::uint32_t first = ring.add_name("ncclAllReduce");
  const std::uint32_t second = ring.add_name(std::string_view("with\0zero", 9));
  const std::uint32_t empty = ring.add_name("");
  EXPECT_EQ(ring.name(first), "ncclAllReduce");
  EXPECT_EQ(ring.name(second), std::string_view("with\0zero", 9));
  EXPECT_EQ(ring.name(empty), "");
  EXPECT_NE(empty, 0u);
  EXPECT_EQ(ring.name(0), "");
}

TEST(Names, AreCutAtTheirLongest) {
  MemoryRing memory(1 << 20);
  const std::string longest(100'000, 'x');
  EXPECT_EQ(memory.ring().name(memory.ring().add_name(longest)), longest.substr(0, 16383));
}

TEST(Names, FullAreaIsCountedAndLosesOnlyTheName) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  const std::string text(1000, 'n');
  std::uint64_t added = 0;
  while (ring.add_name(text) != 0) ++added;
  EXPECT_EQ(added, (ring.header().names_bytes - 8) / 1008);
  EXPECT_EQ(ring.add_name(text), 0u);
  EXPECT_EQ(ring.add_name_uncounted(text), 0u);
  EXPECT_EQ(ring.header().dropped[static_cast<std::size_t>(DropCause::names_full)].load(), 2u);
}

TEST(Names, TellTheRoomThatTheyTake) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  for (const std::size_t bytes : {1, 4, 5, 12, 13, 16'383, 100'000}) {
    const std::string text(bytes, 'x');
    const std::uint64_t before = ring.header().names_used;
    ring.add_name(text);
    EXPECT_EQ(ring.header().names_used - before, room_of_name(text)) << bytes;
  }
}

TEST(Names, HostileOffsetsReadNothingOutside) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  const auto area = static_cast<std::uint32_t>(ring.header().names_bytes);
  const std::uint32_t huge_length = UINT32_MAX - 2;
  std::memcpy(ring.names() + area - 4, &huge_length, sizeof huge_length);
  std::memcpy(ring.names() + 64, &huge_length, sizeof huge_length);
  for (const std::uint32_t offset :
       {1u, 7u, 64u, area - 4, area - 3, area - 1, area, area + 1, UINT32_MAX - 3, UINT32_MAX}) {
    EXPECT_EQ(ring.name(offset), "") << offset;
  }
  constexpr std::uint32_t longest = 16383;
  const std::uint32_t near_the_end = area - longest - 4;
  std::memcpy(ring.names() + near_the_end, &longest, sizeof longest);
  EXPECT_EQ(ring.name(near_the_end).size(), longest);
  // Longer than any that was added.
  const std::uint32_t too_long = longest + 1;
  std::memcpy(ring.names() + 100, &too_long, sizeof too_long);
  EXPECT_EQ(ring.name(100), "");
}

TEST(Chunks, EachIsClaimedOnceUntilTheRingIsFull) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  std::set<Chunk*> claimed;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    Chunk* chunk = claim_chunk(ring, 7, no_name, false);
    ASSERT_NE(chunk, nullptr);
    EXPECT_EQ(chunk->thread_id, 7u);
    EXPECT_STREQ(chunk->thread_name, "thread");
    claimed.insert(chunk);
  }
  EXPECT_EQ(claimed.size(), ring.chunk_count());
  EXPECT_EQ(ring.header().free_chunks.load(), 0u);
  EXPECT_EQ(claim_chunk(ring, 7, no_name, false), nullptr);
}

TEST(Chunks, ClaimNumbersRise) {
  MemoryRing memory(1 << 20);
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    Chunk* chunk = claim_chunk(memory.ring(), 1, no_name, false);
    ASSERT_NE(chunk, nullptr);
    EXPECT_GT(chunk->claim_number.load(), last);
    last = chunk->claim_number;
    retire_chunk(*chunk);
    EXPECT_TRUE(free_chunk(memory.ring(), *chunk));
  }
}

// Sleeping threads keep theirs: each is passed once a round, by the claim that meets it.
TEST(Chunks, AreTakenInTurnWhereSomeAreKept) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  const std::uint64_t count = ring.chunk_count();
  ASSERT_GE(count, 8u);
  const std::uint64_t kept = 3;
  for (std::uint64_t i = 0; i < kept; ++i) {
    EXPECT_EQ(claim_chunk(ring, 7, no_name, false), &ring.chunk(i));
  }
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t i = kept; i < count; ++i) {
      Chunk* chunk = claim_chunk(ring, 8, no_name, false);
      ASSERT_EQ(chunk, &ring.chunk(i)) << "round " << round;
      retire_chunk(*chunk);
      ASSERT_TRUE(free_chunk(ring, *chunk));
    }
  }
}

// Who frees chunks looks at them only when there is something to free.
TEST(Chunks, ARetiredOneIsToldOnce) {
  MemoryRing memory(1 << 20);
  take_note_of_retired();
  EXPECT_FALSE(take_note_of_retired());
  Chunk* chunk = claim_chunk(memory.ring(), 1, no_name, false);
  ASSERT_NE(chunk, nullptr);
  EXPECT_FALSE(take_note_of_retired());
  retire_chunk(*chunk);
  EXPECT_TRUE(take_note_of_retired());
  EXPECT_FALSE(take_note_of_retired());
}

TEST(Chunks, FreeClearsRetiredOnesOnly) {
  MemoryRing memory(1 << 20);
  Chunk* chunk = claim_chunk(memory.ring(), 1, no_name, false);
  write_record(*chunk, 0, 5, 6);
  EXPECT_FALSE(free_chunk(memory.ring(), *chunk)) << "its owner may still write";
  retire_chunk(*chunk);
  EXPECT_EQ(chunk->records[0].begin_ticks.load(), 5u);
  EXPECT_TRUE(free_chunk(memory.ring(), *chunk));
  EXPECT_EQ(chunk->records[0].begin_ticks.load(), 0u);
  EXPECT_FALSE(free_chunk(memory.ring(), *chunk)) << "freed twice";
  EXPECT_EQ(memory.ring().header().free_chunks.load(), memory.ring().chunk_count());
}

// As one that was never used: a hole made of it changes nothing.
TEST(Chunks, AreZerosWhenFree) {
  MemoryRing memory(1 << 20);
  Chunk* chunk = claim_chunk(memory.ring(), 7, no_name, false);
  write_record(*chunk, 0, 5, 6);
  retire_chunk(*chunk);
  ASSERT_TRUE(free_chunk(memory.ring(), *chunk));
  const auto* begin = reinterpret_cast<const char*>(chunk);
  EXPECT_TRUE(std::all_of(begin, begin + chunk_bytes, [](char byte) { return byte == 0; }));
}

TEST(Chunks, AreFreedOnlyWhenAllInThemIsOldAndOver) {
  MemoryRing memory(1 << 20);
  Chunk* chunk = claim_chunk(memory.ring(), 1, no_name, false);
  write_record(*chunk, 0, 5, 6);
  EXPECT_FALSE(free_chunk_before(memory.ring(), *chunk, 100)) << "its owner may still write";
  retire_chunk(*chunk);
  EXPECT_FALSE(free_chunk_before(memory.ring(), *chunk, 5)) << "it began at that moment";
  write_record(*chunk, 1, 4, 0);
  EXPECT_FALSE(free_chunk_before(memory.ring(), *chunk, 100)) << "a call of it still runs";
  EXPECT_EQ(chunk->state.load(), ChunkState::retired);
  EXPECT_NE(chunk->claim_number.load(), 0u);
  write_record(*chunk, 1, 4, 7);
  EXPECT_TRUE(free_chunk_before(memory.ring(), *chunk, 100));
  EXPECT_EQ(chunk->records[0].begin_ticks.load(), 0u);
  EXPECT_EQ(memory.ring().header().free_chunks.load(), memory.ring().chunk_count());
}

TEST(Overwrite, TakesTheOldestRetiredChunkAndCountsItsRecords) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  std::vector<Chunk*> chunks;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    chunks.push_back(claim_chunk(ring, 1, no_name, false));
  }
  EXPECT_EQ(claim_chunk(ring, 2, no_name, true), nullptr) << "all are owned";
  for (std::size_t slot = 0; slot < 3; ++slot) write_record(*chunks[1], slot, 10 + slot, 20 + slot);
  // What came before the window is wanted by nobody: no loss.
  ring.header().windows[0].begin_ticks.store(11);
  // What the ring holds for want of a file is wanted.
  ring.header().windows[0].state.store(WindowState::failed);
  retire_chunk(*chunks[2]);
  retire_chunk(*chunks[1]);
  EXPECT_EQ(claim_chunk(ring, 2, no_name, true), chunks[1]);
  EXPECT_EQ(chunks[1]->thread_id, 2u);
  EXPECT_EQ(chunks[1]->records[0].begin_ticks.load(), 0u);
  EXPECT_EQ(ring.header().dropped[static_cast<std::size_t>(DropCause::overwritten)].load(), 2u);
}

// Each window tells of its own: what lay between two of them is no loss, and what the device did
// is the window's in which it began, whatever window it arrived in.
TEST(Overwrite, IsCountedForTheWindowThatARecordIsOf) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  std::vector<Chunk*> chunks;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    chunks.push_back(claim_chunk(ring, 1, no_name, false));
  }
  constexpr std::uint64_t epoch_ns = 1'700'000'000'000'000'000;
  ring.header().nominal_ns_per_tick = 10;
  add_anchor(ring.header(), {50, epoch_ns + 500, 1});
  Window& early = ring.header().windows[3];
  early.begin_ticks = 100, early.end_ticks = 200, early.state = WindowState::closed;
  Window& late = ring.header().windows[1];
  late.begin_ticks = 300, late.state = WindowState::open;
  Window& has_file = ring.header().windows[2];
  has_file.begin_ticks = 50, has_file.end_ticks = 100, has_file.state = WindowState::written;
  std::size_t slot = 0;
  for (const std::uint64_t ticks : {60, 99, 100, 150, 199, 200, 250, 299, 300, 301}) {
    write_record(*chunks[0], slot++, ticks, ticks + 1);
  }
  const auto arrived = [&](event::Layout layout, std::uint64_t began, std::uint64_t ticks) {
    chunks[0]->records[slot].layout = layout;
    chunks[0]->records[slot].args[0] = epoch_ns + 10 * began;
    write_record(*chunks[0], slot++, ticks, ticks);
  };
  for (const std::uint64_t began : {70, 99}) arrived(event::Layout::device_work, began, 310);
  for (const std::uint64_t began : {100, 199, 210}) {
    arrived(event::Layout::device_work, began, 310);
    arrived(event::Layout::api_call, began, 290);
  }
  arrived(event::Layout::timed_by_event, 299, 400);
  arrived(event::Layout::device_work, 300, 400);
  retire_chunk(*chunks[0]);
  EXPECT_EQ(claim_chunk(ring, 2, no_name, true), chunks[0]);
  constexpr auto overwritten = static_cast<std::size_t>(DropCause::overwritten);
  EXPECT_EQ(dropped_in(ring, early)[overwritten], 3u + 6u + 1u);
  EXPECT_EQ(dropped_in(ring, late)[overwritten], 2u + 1u);
  EXPECT_EQ(dropped_in(ring, has_file)[overwritten], 0u);
  EXPECT_EQ(ring.header().dropped[overwritten].load(), 13u);
}

// A job may have them trap: a quotient that is not exact would end it.
TEST(Ring, OverwritingLeavesTheJobsFloatsAlone) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  ring.header().nominal_ns_per_tick = 0.3;
  add_anchor(ring.header(), {50, 500, 1});
  Window& window = ring.header().windows[0];
  window.begin_ticks = 101, window.state = WindowState::open;
  Chunk* last = nullptr;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    last = claim_chunk(ring, 1, no_name, false);
  }
  retire_chunk(*last);
  std::feclearexcept(FE_ALL_EXCEPT);
  EXPECT_EQ(claim_chunk(ring, 2, no_name, true), last);
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0);
}

// A call that still runs will patch its end into its place: had another thread's record moved in,
// it would get that end.
TEST(Overwrite, LeavesChunksWithCallsInFlightAlone) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  std::vector<Chunk*> chunks;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    chunks.push_back(claim_chunk(ring, 1, no_name, false));
    write_record(*chunks[i], 0, 10 + i, i == 0 ? 0 : 20 + i);
  }
  retire_chunk(*chunks[0]);
  retire_chunk(*chunks[1]);
  EXPECT_EQ(claim_chunk(ring, 2, no_name, true), chunks[1]);
  EXPECT_EQ(chunks[0]->records[0].begin_ticks.load(), 10u);
  EXPECT_EQ(claim_chunk(ring, 2, no_name, true), nullptr);
  chunks[0]->records[0].end_ticks.store(99);
  EXPECT_EQ(claim_chunk(ring, 2, no_name, true), chunks[0]);
}

// Calls that an exception left never end: they must not keep the flight recorder from flying.
TEST(Overwrite, TakesAChunkInFlightWhenNothingElseIsLeft) {
  MemoryRing memory(2 << 20);
  const Ring& ring = memory.ring();
  while (Chunk* chunk = claim_chunk(ring, 1, no_name, false)) {
    write_record(*chunk, 0, 10, 0);
    retire_chunk(*chunk);
  }
  EXPECT_NE(claim_chunk(ring, 2, no_name, true), nullptr);
}

// A run of weeks has more files than names find room.
TEST(Names, AreReplacedInTheirPlace) {
  MemoryRing memory(1 << 20);
  const Ring& ring = memory.ring();
  NamePlace place{};
  const std::uint32_t first = ring.replace_name(place, "/out/ep0-ba9-rank0.json");
  const std::uint32_t other = ring.add_name("a kernel");
  const std::uint64_t used = ring.header().names_used.load();
  for (int i = 0; i < 100'000; ++i) {
    const std::string name = "/out/ep0-ba" + std::to_string(i) + "-rank0.json";
    ASSERT_EQ(ring.replace_name(place, name), first);
    ASSERT_EQ(ring.name(first), name);
  }
  EXPECT_EQ(ring.header().names_used.load(), used);
  const std::string longer(200, 'x');
  EXPECT_NE(ring.replace_name(place, longer), first);
  EXPECT_EQ(ring.name(place.offset), longer);
  EXPECT_EQ(ring.name(other), "a kernel");
  while (ring.add_name(longer) != 0) {
  }
  const std::uint64_t dropped = memory.dropped(DropCause::names_full);
  EXPECT_EQ(ring.replace_name(place, std::string(1000, 'y')), 0u);
  EXPECT_EQ(ring.name(place.offset), longer) << "as it was";
  EXPECT_EQ(memory.dropped(DropCause::names_full), dropped) << "no event lacks a name";
}

}  // namespace
}  // namespace traceagent::ring
