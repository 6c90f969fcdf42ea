#include "agent/drain/counter_events.hpp"

#include <gtest/gtest.h>

#include "agent/drain/clock.hpp"
#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

using counters::Counter;
using counters::Note;
using counters::NoteKind;
using counters::Sample;

constexpr std::uint64_t second = 1'000'000'000;

class CounterEventsTest : public testing::Test {
 protected:
  event::Record& record(std::uint64_t ticks) {
    return crafted.add(chunk, api::Function::none, event::Layout::counter_sample, ticks, ticks);
  }
  void sample(std::uint64_t ticks, Counter counter, std::initializer_list<std::uint64_t> values,
              std::uint32_t instance = 0) {
    Sample made{counter, 0, instance, {}};
    std::size_t series = 0;
    for (const std::uint64_t value : values) made.set(series++, value);
    fill(record(ticks), made);
  }
  void note(std::uint64_t ticks, NoteKind kind, const char* text) {
    fill(record(ticks), Note{kind, 0, crafted.ring().add_name(text)});
  }
  CounterEvents events(std::uint64_t begin, std::uint64_t end) const {
    return {crafted.ring(), begin, end, clock_of(crafted.ring())};
  }
  // "<seconds> <name>: <series>" of each event.
  std::vector<std::string> shown(std::uint64_t begin, std::uint64_t end) const {
    std::vector<std::string> lines;
    const CounterEvents made = events(begin, end);
    for (const CounterEvent& each : made.events()) {
      lines.push_back(std::to_string(each.ticks / second) + " " + name_of(each) + ": " +
                      each.series);
    }
    return lines;
  }

  CraftedRing crafted;
  ring::Chunk& chunk = crafted.chunk_of(77, "traceagent-cnt");
};

using Lines = std::vector<std::string>;

TEST_F(CounterEventsTest, ARateStandsWhereItsTimeBegins) {
  sample(10 * second, Counter::process_cpu, {0, 0});
  sample(12 * second, Counter::process_cpu, {2 * second, second});
  sample(13 * second, Counter::process_cpu, {2 * second, second + second / 2});
  EXPECT_EQ(shown(10 * second, 20 * second),
            (Lines{R"(10 process CPU %: "user": 100, "system": 50)",
                   R"(12 process CPU %: "user": 0, "system": 50)"}));
}

TEST_F(CounterEventsTest, GaugesRatesAndShares) {
  sample(10 * second, Counter::gpu_power, {123'456}, 1);
  sample(11 * second, Counter::node_disks, {1000, 500});
  sample(12 * second, Counter::node_cpu, {0, 0, 0, 0});
  sample(13 * second, Counter::node_disks, {5000, 500});
  sample(14 * second, Counter::node_cpu, {30, 10, 0, 200});
  EXPECT_EQ(shown(10 * second, 20 * second),
            (Lines{R"(10 GPU 1 power W: "power": 123.456)",
                   R"(11 node disk bytes/s: "read": 2000, "written": 0)",
                   R"(12 node CPU %: "user": 15, "system": 5, "iowait": 0)"}));
}

TEST_F(CounterEventsTest, WhatGoesBackwardsIsAGap) {
  sample(10 * second, Counter::node_network, {4'000'000'000, 100});
  sample(11 * second, Counter::node_network, {5, 200});
  sample(12 * second, Counter::node_network, {10, 300});
  EXPECT_EQ(shown(10 * second, 20 * second),
            (Lines{R"(10 node network bytes/s: "sent": 100)",
                   R"(11 node network bytes/s: "received": 5, "sent": 100)"}));
}

TEST_F(CounterEventsTest, NoRateGoesAcrossAGap) {
  constexpr std::uint64_t ms = 1'000'000;
  sample(10 * second, Counter::node_disks, {1000, 10});
  sample(11 * second, Counter::node_disks, {});
  sample(11 * second + ms, Counter::node_disks, {1500, 15});
  sample(12 * second, Counter::node_disks, {1600, 20});
  sample(12 * second + ms, Counter::node_disks, {});
  sample(13 * second, Counter::node_disks, {9999, 99});
  EXPECT_EQ(shown(10 * second, 13 * second),
            Lines{R"(11 node disk bytes/s: "read": 100.1, "written": 5.005)"});
  EXPECT_EQ(events(10 * second, 13 * second).describe(crafted.ring()).text(), R"({"samples": 4})");
  EXPECT_EQ(shown(10 * second, 11 * second + 1), Lines{});
}

// A window's end is the next one's beginning, a tenth of a millisecond later.
TEST_F(CounterEventsTest, NoRateOfAMomentAlone) {
  constexpr std::uint64_t ms = 1'000'000;
  sample(10 * second, Counter::process_cpu, {0, 0});
  sample(10 * second + ms / 10, Counter::process_cpu, {4 * ms, 0});
  sample(10 * second + 10 * ms, Counter::process_cpu, {5 * ms, 0});
  sample(10 * second + 12 * ms, Counter::process_cpu, {9 * ms, 0});  // the end's
  sample(10 * second + 30 * ms, Counter::process_cpu, {9 * ms, 0});  // the next window's
  EXPECT_EQ(shown(10 * second, 10 * second + 11 * ms),
            Lines{R"(10 process CPU %: "user": 50, "system": 0)"});
  EXPECT_EQ(shown(10 * second + 10 * ms, 10 * second + 11 * ms), Lines{});
}

TEST_F(CounterEventsTest, AShareIsNoMoreThanAll) {
  sample(10 * second, Counter::node_cpu, {0, 0, 0, 0});
  sample(11 * second, Counter::node_cpu, {500, 10, 0, 100});
  sample(12 * second, Counter::node_cpu, {500, 10, 0, 100});
  EXPECT_EQ(shown(10 * second, 20 * second),
            (Lines{R"(10 node CPU %: "system": 10, "iowait": 0)"}));
}

TEST_F(CounterEventsTest, TheEndsSampleComesAMomentLater) {
  sample(9 * second, Counter::process_memory, {1});
  sample(10 * second, Counter::process_memory, {2});
  sample(20 * second + 1000, Counter::process_memory, {3});
  sample(20 * second + 2000, Counter::process_memory, {4});  // the next window's
  EXPECT_EQ(shown(10 * second, 20 * second), (Lines{R"(10 process memory bytes: "resident": 2)",
                                                    R"(20 process memory bytes: "resident": 3)"}));
  const CounterEvents made = events(10 * second, 20 * second);
  EXPECT_EQ(made.events().back().ticks, 20 * second);
  EXPECT_EQ(made.describe(crafted.ring()).text(), R"({"samples": 2})");
}

TEST_F(CounterEventsTest, NotesOfTheWindowAreToldOnce) {
  const char* gpu = R"({"index": 0, "uuid": "GPU-1"})";
  note(9 * second, NoteKind::not_covered, "of an older window");
  note(10 * second, NoteKind::not_covered, "GPU counters: no libnvidia-ml.so.1");
  fill(record(11 * second), counters::note_of(chunk.records[1]));
  note(11 * second, NoteKind::gpu, gpu);
  note(12 * second, NoteKind::gpu, "{damaged");
  note(20 * second, NoteKind::not_covered, "of the next window");
  EXPECT_EQ(events(10 * second, 20 * second).describe(crafted.ring()).text(),
            R"({"not_covered": ["GPU counters: no libnvidia-ml.so.1"], "gpus": [)" +
                std::string(gpu) + "]}");
}

TEST_F(CounterEventsTest, AWindowWithoutASampleSaysSoWhereSomeWereWanted) {
  const auto told = [&](const char* options) {
    crafted.ring().header().identity.options_json = crafted.ring().add_name(options);
    return events(10 * second, 20 * second).describe(crafted.ring()).text();
  };
  const std::string none = R"({"not_covered": ["counters: none was read in this window"]})";
  sample(9 * second, Counter::process_memory, {1});
  EXPECT_EQ(told(R"({"counters.sources":"process"})"), none);
  EXPECT_EQ(told(R"({"counters.sources":"none"})"), "{}");
  crafted.ring().header().identity.local_rank = 0;
  EXPECT_EQ(told(R"({"counters.sources":"node, gpu"})"), none);
  crafted.ring().header().identity.local_rank = 1;
  EXPECT_EQ(told(R"({"counters.sources":"node, gpu"})"), "{}");
  sample(10 * second, Counter::process_memory, {1});
  EXPECT_EQ(told(R"({"counters.sources":"process"})"), R"({"samples": 1})");
}

TEST_F(CounterEventsTest, ADamagedRingsNotesAreBounded) {
  for (int i = 0; i < 600; ++i) note(10 * second, NoteKind::not_covered, "note");  // 600 texts
  const std::string told = events(10 * second, 20 * second).describe(crafted.ring()).text();
  std::size_t notes = 0;
  for (std::size_t at = told.find("\"note\""); at != std::string::npos; ++notes) {
    at = told.find("\"note\"", at + 1);
  }
  EXPECT_EQ(notes, 512u);
}

TEST_F(CounterEventsTest, ADamagedRingNamesNoCounter) {
  sample(10 * second, static_cast<Counter>(60'000), {1});
  EXPECT_EQ(shown(10 * second, 20 * second), Lines{});
}

}  // namespace
}  // namespace traceagent::drain
