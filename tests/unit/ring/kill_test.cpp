// The ring of a process that is killed at a random moment, as another process finds it: threads go
// round a tiny ring, a drain writes windows and frees chunks, then comes the SIGKILL. Every record
// that was published is in a window that was written, in the ring, or counted; none is in two
// places, none is torn.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "agent/ring/writer.hpp"
#include "tests/unit/ring/memory_ring.hpp"

namespace traceagent::ring {
namespace {

constexpr std::uint64_t threads = 3;
constexpr std::uint64_t most_ticks = 1 << 20;  // of one life
constexpr std::uint64_t ring_bytes = 512 * 1024;

// What became of the call that began at a tick, as the process itself says: the truth.
enum Fate : std::uint8_t { unknown = 0, is_published = 1, is_dropped = 2 };

// Shared with the parent, which reads it after the kill.
struct Truth {
  std::atomic<std::uint64_t> clock;
  std::array<std::atomic<std::uint64_t>, threads> writing;  // 0: between two calls
  std::array<std::atomic<Fate>, most_ticks> fate;
  // The number of the window that holds the tick, as it was being written; it counts if the window
  // was finished.
  std::array<std::atomic<std::uint16_t>, most_ticks> window;
  std::atomic<std::uint16_t> read_twice;
  std::atomic<std::uint16_t> torn;
  std::atomic<std::uint16_t> windows_written;
};

bool is_whole(const event::Record& record, std::uint64_t tick) {
  return record.args[0] == tick && record.args[1] == ~tick && record.args[3] == tick * 3;
}

// Now and then it stops half-way, where the kill may find it.
void fill(event::Record& record, std::uint64_t tick) {
  record.args[0] = tick;
  if (tick % 256 == 0) sched_yield();
  record.args[1] = ~tick;
  record.args[3] = tick * 3;
}

void write_calls(Truth& truth, std::uint64_t thread) {
  // One call in fifty lasts while the next forty are made.
  event::Record* outer = nullptr;
  std::uint64_t outer_tick = 0;
  for (std::uint64_t number = 0;; ++number) {
    truth.writing[thread] = 1;  // so that no window ends between the tick and its announcement
    const std::uint64_t tick = truth.clock.fetch_add(1);
    truth.writing[thread] = tick;
    if (tick + 1 >= most_ticks) pause();
    event::Record* record = claim(writer);
    if (record != nullptr) {
      fill(*record, tick);
      publish(*record, tick);
    }
    truth.fate[tick].store(record != nullptr ? is_published : is_dropped);
    truth.writing[thread] = 0;
    if (number % 50 == 0) {
      outer = record;
      outer_tick = tick;
    } else if (record != nullptr && record->begin_ticks.load() == tick) {
      record->end_ticks.store(tick + 1, std::memory_order_release);
    }
    if (number % 50 == 40 && outer != nullptr && outer->begin_ticks.load() == outer_tick) {
      outer->end_ticks.store(tick, std::memory_order_release);
    }
  }
}

void read_window(const Ring& ring, Truth& truth, std::uint64_t begin, std::uint64_t end,
                 std::uint16_t number) {
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const Chunk& chunk = ring.chunk(i);
    // Acquire pairs with the claim.
    if (chunk.claim_number.load(std::memory_order_acquire) == 0) continue;
    for (const event::Record& record : chunk.records) {
      const std::uint64_t tick = record.begin_ticks.load(std::memory_order_acquire);
      if (tick == 0 || tick < begin || tick >= end) continue;
      if (!is_whole(record, tick)) ++truth.torn;
      if (truth.window[tick].exchange(number) != 0) ++truth.read_twice;
    }
  }
}

bool is_settled(const Truth& truth, std::uint64_t end) {
  for (const auto& tick : truth.writing) {
    const std::uint64_t seen = tick.load();
    if (seen != 0 && seen < end) return false;
  }
  return true;
}

// As WindowWriter does: overwriting pauses while a window is written, chunks are freed afterwards.
void drain(const Ring& ring, Truth& truth) {
  Window& window = ring.header().windows[0];
  for (std::uint16_t number = 1;; ++number) {
    usleep(300);
    const bool overwrite = target.overwrite.exchange(false);
    usleep(1000);
    const std::uint64_t end = truth.clock.load();
    while (!is_settled(truth, end)) usleep(10);
    read_window(ring, truth, window.begin_ticks.load(), end, number);
    truth.windows_written.store(number);
    window.begin_ticks.store(end);
    target.overwrite.store(overwrite);
    for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
      free_chunk_before(ring, ring.chunk(i), end);
    }
  }
}

template <class T>
T* shared_memory(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<T*>(memory);
}

// Never returns.
[[noreturn]] void live(const Ring& ring, Truth& truth, bool overwrite) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  target.ring = ring;
  target.overwrite = overwrite;
  target.generation.fetch_add(1);
  std::vector<std::thread> writers;
  for (std::uint64_t i = 0; i < threads; ++i) {
    writers.emplace_back([&truth, i] { write_calls(truth, i); });
  }
  drain(ring, truth);
  _exit(1);
}

struct Found {
  std::map<std::uint64_t, std::uint64_t> records;  // by tick: how often
  std::uint64_t torn = 0;
  std::set<std::uint64_t> claim_numbers;
};

Found find_all(const Ring& ring, std::uint64_t begin) {
  Found found;
  for (std::uint64_t i = 0; i < ring.chunk_count(); ++i) {
    const Chunk& chunk = ring.chunk(i);
    const std::uint64_t number = chunk.claim_number.load();
    if (number == 0) continue;
    EXPECT_TRUE(found.claim_numbers.insert(number).second) << "one number, two chunks";
    for (const event::Record& record : chunk.records) {
      const std::uint64_t tick = record.begin_ticks.load();
      if (tick < begin || tick == 0) continue;
      if (!is_whole(record, tick)) ++found.torn;
      const std::uint64_t end = record.end_ticks.load();
      if (end != 0 && end < tick) ++found.torn;
      ++found.records[tick];
    }
  }
  return found;
}

void compare(const Ring& ring, const Truth& truth) {
  const std::uint64_t begin = ring.header().windows[0].begin_ticks.load();
  const Found found = find_all(ring, begin);
  EXPECT_EQ(found.torn, 0u);
  EXPECT_EQ(truth.torn.load(), 0u);
  const std::uint16_t written = truth.windows_written.load();
  std::uint64_t missing = 0;
  const std::uint64_t end = std::min<std::uint64_t>(truth.clock.load(), most_ticks);
  for (std::uint64_t tick = 1; tick < end; ++tick) {
    const std::uint16_t window = truth.window[tick].load();
    const bool is_written = window != 0 && window <= written;
    const auto place = found.records.find(tick);
    const std::uint64_t times = place == found.records.end() ? 0 : place->second;
    EXPECT_LE(times, 1u) << tick << " is in two chunks";
    // Killed between a window's last word and its begin: its file is known by name.
    const bool is_in_last = window == written;
    EXPECT_FALSE(is_written && times != 0 && !is_in_last) << tick << " is read twice";
    if (truth.fate[tick].load() == is_published && !is_written && times == 0) ++missing;
  }
  EXPECT_EQ(truth.read_twice.load(), 0u);
  const std::uint64_t counted =
      ring.header().dropped[static_cast<std::size_t>(DropCause::overwritten)].load();
  // Killed while it clears a chunk whose records it has counted, for each of the threads.
  EXPECT_LE(missing, counted) << "lost and not counted";
  EXPECT_LE(counted, missing + threads * records_per_chunk) << "counted and not lost";
}

void one_life(bool overwrite, std::uint64_t life_us) {
  const Sizes sizes = divide(ring_bytes);
  void* memory = shared_memory<void>(sizes.file_bytes);
  Truth* truth = shared_memory<Truth>(sizeof(Truth));
  ASSERT_NE(memory, nullptr);
  ASSERT_NE(truth, nullptr);
  truth->clock = 1;
  const Ring ring = format(memory, sizes);
  ring.header().windows[0].begin_ticks = 1;
  ring.header().windows[0].state = WindowState::open;
  const pid_t child = fork();
  if (child == 0) live(ring, *truth, overwrite);
  ASSERT_GT(child, 0);
  usleep(static_cast<useconds_t>(life_us));
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  compare(ring, *truth);
  munmap(memory, sizes.file_bytes);
  munmap(truth, sizeof(Truth));
}

void many_lives(bool overwrite) {
  const char* wanted = std::getenv("RING_KILLS");
  const int lives = wanted != nullptr ? std::atoi(wanted) : 40;
  std::mt19937_64 random(std::random_device{}());
  for (int i = 0; i < lives && !testing::Test::HasFailure(); ++i) {
    one_life(overwrite, 1000 + random() % 15000);
  }
}

TEST(Kill, LosesNothingThatWasPublished) { many_lives(false); }
TEST(Kill, LosesOnlyWhatIsCountedWhereTheRingGoesRound) { many_lives(true); }

}  // namespace
}  // namespace traceagent::ring
