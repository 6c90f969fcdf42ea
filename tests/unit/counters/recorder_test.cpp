#include "agent/counters/recorder.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/counters/recorded.hpp"

namespace traceagent::counters {
namespace {

// Twice what the ring has room for, each with its number.
std::uint64_t fill_twice(Recorded& recorded) {
  const std::uint64_t count = recorded.ring().chunk_count() * ring::records_per_chunk * 2;
  recorded.recorder.begin_window();
  for (std::uint64_t i = 1; i <= count; ++i) {
    Sample sample{Counter::process_memory, 0, 0, {}};
    sample.set(0, i);
    recorded.recorder.put(sample, i);
  }
  return count;
}

std::uint64_t newest(const Recorded& recorded) {
  std::uint64_t newest = 0;
  for (const Sample& sample : recorded.samples(Counter::process_memory)) {
    newest = std::max(newest, sample.values[0]);
  }
  return newest;
}

TEST(Recorder, AWindowTakesItsShareAndNoMore) {
  Recorded recorded;
  const std::uint64_t count = fill_twice(recorded);
  const std::uint64_t share =
      std::max<std::uint64_t>(recorded.ring().chunk_count() / most_share_of_ring, 1);
  EXPECT_EQ(newest(recorded), share * ring::records_per_chunk);
  EXPECT_EQ(recorded.recorder.missed(), count - newest(recorded));
}

TEST(Recorder, WhereTheOldestIsOverwrittenTheNewestIsThere) {
  Recorded recorded(true);
  const std::uint64_t count = fill_twice(recorded);
  EXPECT_EQ(newest(recorded), count);
  EXPECT_EQ(recorded.recorder.missed(), 0U);
}

TEST(Recorder, NotesAreInEachWindowOnce) {
  Recorded recorded;
  recorded.recorder.not_covered("no permission");
  recorded.recorder.not_covered("no permission");
  EXPECT_EQ(recorded.not_covered().size(), 1u);
  recorded.recorder.begin_window();
  EXPECT_EQ(recorded.not_covered(), (std::vector<std::string>{"no permission", "no permission"}));
}

TEST(Recorder, ASampleWithoutAValueIsNone) {
  Recorded recorded;
  recorded.recorder.put(Sample{Counter::process_memory, 0, 0, {}}, 1);
  EXPECT_TRUE(recorded.samples(Counter::process_memory).empty());
  recorded.recorder.put_gap(Counter::process_memory, 2);
  EXPECT_EQ(recorded.samples(Counter::process_memory).size(), 1u) << "a gap is told of";
}

}  // namespace
}  // namespace traceagent::counters
