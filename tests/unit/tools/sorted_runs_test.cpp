#include "tools/import/sorted_runs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::tools {
namespace {

constexpr std::size_t bytes = 4096;

struct Written {
  std::vector<std::vector<std::int64_t>> times;  // by run
  std::vector<std::string> lines;
};

Written write(const std::vector<std::int64_t>& times) {
  const trace::ScratchFolder folder;
  SortedRuns runs(folder / "run", 10, bytes);
  for (std::size_t i = 0; i < times.size(); ++i) {
    const std::string line = std::to_string(times[i]) + " " + std::to_string(i) + ",\n";
    std::copy(line.begin(), line.end(), runs.reserve(line.size()));
    runs.commit(line.size(), times[i]);
  }
  runs.finish();
  EXPECT_EQ(runs.error_number(), 0);
  Written written;
  for (const SortedRuns::Run& run : runs.runs()) {
    std::istringstream text(trace::read_whole(run.path).substr(10));
    std::vector<std::int64_t> in_run;
    for (std::string line; std::getline(text, line);) {
      if (line.ends_with(',')) line.pop_back();
      written.lines.push_back(line);
      in_run.push_back(std::stoll(line));
    }
    EXPECT_TRUE(std::is_sorted(in_run.begin(), in_run.end()));
    EXPECT_EQ(in_run.size(), run.lines);
    EXPECT_EQ(in_run.front(), run.first_ns);
    EXPECT_EQ(in_run.back(), run.last_ns);
    written.times.push_back(in_run);
  }
  std::vector<std::string> all;
  for (std::size_t i = 0; i < times.size(); ++i) {
    all.push_back(std::to_string(times[i]) + " " + std::to_string(i));
  }
  std::vector<std::string> seen = written.lines;
  std::sort(all.begin(), all.end());
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(seen, all);
  return written;
}

TEST(SortedRuns, WritesOneRunOfWhatIsNearlySorted) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 5000; ++i) times.push_back(i * 10 + (i * 7919) % 300);
  EXPECT_EQ(write(times).times.size(), 1U);
  EXPECT_TRUE(write({}).times.empty());
}

TEST(SortedRuns, WritesARunForEachThreadOfAFileByThreads) {
  std::vector<std::int64_t> times;
  for (int thread = 0; thread < 3; ++thread) {
    for (int i = 0; i < 2000; ++i) times.push_back(i * 10 + thread);
  }
  EXPECT_EQ(write(times).times.size(), 3U);
}

TEST(SortedRuns, KeepsTheOrderOfOneTime) {
  const Written written = write(std::vector<std::int64_t>(3000, 42));
  ASSERT_EQ(written.times.size(), 1U);
  for (std::size_t i = 0; i < written.lines.size(); ++i) {
    EXPECT_EQ(written.lines[i], "42 " + std::to_string(i));
  }
}

TEST(SortedRuns, KeepsTheOrderOfOneTimeAmongNeighboursInDisorder) {
  std::vector<std::int64_t> times;
  for (int i = 0; i < 5000; ++i) times.push_back((i / 4) * 10 - (i % 4 == 3 ? 10 : 0));
  std::vector<std::pair<std::int64_t, std::size_t>> wanted;
  for (std::size_t i = 0; i < times.size(); ++i) wanted.emplace_back(times[i], i);
  std::sort(wanted.begin(), wanted.end());
  const Written written = write(times);
  ASSERT_EQ(written.times.size(), 1U);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto& [time, place] = wanted[i];
    ASSERT_EQ(written.lines[i], std::to_string(time) + " " + std::to_string(place));
  }
}

TEST(SortedRuns, LosesNothingWhateverTheOrder) {
  std::mt19937 random(7);
  std::vector<std::int64_t> times(4000);
  for (auto& time : times) time = static_cast<std::int64_t>(random()) - (std::int64_t{1} << 31);
  write(times);
  std::sort(times.begin(), times.end(), std::greater<>());
  write(times);
}

TEST(SortedRuns, NotesWhenThereAreEvents) {
  const trace::ScratchFolder folder;
  const auto spans_of = [&](const std::vector<std::int64_t>& times) {
    SortedRuns runs(folder / std::to_string(times.size()), 10, bytes);
    for (const std::int64_t ns : times) {
      std::copy_n(",\n", 2, runs.reserve(2));
      runs.commit(2, ns);
    }
    runs.finish();
    return runs.runs().at(0).spans.bounds_ns();
  };
  constexpr std::int64_t pause = TimeSpans::pause_ns;
  EXPECT_EQ(spans_of({-5, pause - 5, 7, 3 * pause, 3 * pause}),
            (std::vector<std::int64_t>{-5, pause - 5, 3 * pause, 3 * pause}));
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < TimeSpans::most_spans; ++i) {
    times.push_back(static_cast<std::int64_t>(i) * (pause + 1));
  }
  EXPECT_EQ(spans_of(times).size(), 2 * TimeSpans::most_spans);
  times.push_back(times.back() + pause + 1);
  EXPECT_TRUE(spans_of(times).empty());
}

}  // namespace
}  // namespace traceagent::tools
