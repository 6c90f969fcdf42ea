// What is chosen of other people's files.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "agent/trace/json_scan.hpp"
#include "tests/unit/tools/import_fixture.hpp"
#include "tools/selection/event_selection.hpp"
#include "tools/selection/trace_range.hpp"

namespace traceagent::tools {
namespace {

constexpr std::int64_t ms = 1'000'000;

class ImportedWindowTest : public ImportTest {
 protected:
  // The events of one file that the rules keep.
  std::vector<std::string> chosen(const std::string& path, const EventRules& rules) {
    const ImportedTraces imported({path}, {.folder = folder_.path().string()});
    inputs_ = imported.paths().size();
    EventSelection selection(rules, {});
    merged_ = trace::merge(imported.paths(), folder_ / "merged", {.selection = &selection});
    EXPECT_EQ(merged_.problem, "");
    return trace::read_trace(folder_ / "merged").events;
  }

  std::size_t inputs_ = 0;
};

std::size_t count_of(const std::vector<std::string>& events, std::string_view phase) {
  return static_cast<std::size_t>(std::count_if(
      events.begin(), events.end(),
      [phase](const std::string& event) { return trace::string_member(event, "ph") == phase; }));
}

// So far from the order of time it is written in several runs, one for each thread here.
TEST_F(ImportedWindowTest, ArrowsFromOneThreadToAnotherOfALargeFileAreKept) {
  constexpr int count = 25'000;
  const std::string padding(60, 'x');
  std::string text = R"({"distributedInfo":{"rank":0},"traceEvents":[)";
  for (const bool is_launch : {true, false}) {
    for (int i = 0; i < count; ++i) {
      const std::string lane = is_launch ? R"("pid":100,"tid":1)" : R"("pid":0,"tid":7)";
      const std::string ts = std::to_string(1'000'000'000 + 10 * i + (is_launch ? 0 : 3));
      text += R"({"ph":"X",)" + lane + R"(,"cat":"kernel","name":"k","dur":5,"ts":)" + ts +
              R"(,"args":{"padding":")" + padding + R"("}},{"ph":")" + (is_launch ? "s" : "f") +
              R"(","bp":"e",)" + lane + R"(,"cat":"ac2g","name":"ac2g","id":)" + std::to_string(i) +
              R"(,"ts":)" + ts + "},\n";
    }
  }
  text.replace(text.size() - 2, 2, "]}");
  EventRules rules;
  rules.window = {1'000'000 * ms, 1'000'020 * ms};
  const auto events = chosen(file("threads.json", text), rules);
  ASSERT_GT(inputs_, 2U) << "it is one run, and shows nothing";
  // Touched at both edges: launches from 0 to 2000, and all kernels that follow them but the last.
  EXPECT_EQ(count_of(events, "X"), 2001U + 2000U);
  EXPECT_EQ(count_of(events, "s"), 2000U);
  EXPECT_EQ(count_of(events, "f"), 2000U);
}

// The thread that stands first in the file is not the one with the first event.
TEST_F(ImportedWindowTest, WhatStandsFirstOfOneTimeInALargeFileStaysFirst) {
  constexpr int count = 25'000;
  const std::string padding(80, 'x');
  std::string text = "[";
  for (const bool is_launch : {true, false}) {
    for (int i = is_launch ? 1 : 0; i < count; ++i) {
      const std::string lane = is_launch ? R"("pid":1,"tid":1)" : R"("pid":1,"tid":2)";
      const std::string ts = std::to_string(10 * i);
      text += R"({"ph":"X",)" + lane + R"(,"cat":"k","name":"k","dur":5,"ts":)" + ts +
              R"(,"args":{"padding":")" + padding + R"("}},)";
      if (i == 0) continue;
      text += R"({"ph":")" + std::string(is_launch ? "s" : "f") + R"(","bp":"e",)" + lane +
              R"(,"cat":"f","name":"f","id":)" + std::to_string(i) + R"(,"ts":)" + ts + "},\n";
    }
  }
  text.replace(text.size() - 2, 2, "]");
  EventRules rules;
  rules.window = {0, 1'000'000 * ms};
  const auto events = chosen(file("threads.json", text), rules);
  ASSERT_GT(inputs_, 2U) << "it is one run, and shows nothing";
  EXPECT_EQ(count_of(events, "s"), count - 1U);
  EXPECT_EQ(count_of(events, "f"), count - 1U);
  std::set<std::string> begun;
  for (const std::string& event : events) {
    const std::string id(trace::member(event, "id").value_or(""));
    if (trace::string_member(event, "ph") == "s") begun.insert(id);
    const bool is_end = trace::string_member(event, "ph") == "f";
    EXPECT_TRUE(!is_end || begun.contains(id)) << event;
  }
}

TEST_F(ImportedWindowTest, AnUnsetDurationOverlapsAllThatFollows) {
  EventRules rules;
  rules.window = {1000 * ms, 2000 * ms};
  rules.clip = true;
  std::string text = "[";
  for (const char* dur : {"8000000000000000", "9300000000000000", "1e18", "18446744073709551615"}) {
    text += R"({"ph":"X","pid":1,"tid":1,"name":"d","ts":5000,"dur":)" + std::string(dur) + "},";
  }
  text += R"({"ph":"X","pid":1,"tid":1,"name":"before","ts":5000,"dur":-1e18}])";
  const auto events = chosen(file("durations.json", text), rules);
  ASSERT_EQ(events.size(), 4U);
  for (const std::string& event : events) {
    EXPECT_EQ(trace::member(event, "dur"), "1000000.000") << event;
  }
  // But the trace ends with the others.
  const std::string unset =
      R"([{"ph":"X","pid":1,"tid":1,"name":"d","ts":5000,"dur":18446744073709551615},)"
      R"({"ph":"X","pid":1,"tid":1,"name":"e","ts":7000,"dur":100}])";
  ASSERT_EQ(chosen(file("unset.json", unset), {}).size(), 2U);
  EXPECT_EQ(range_of({folder_ / "merged"}, {.end = true}).end_ns, 7'100'000);
}

// Which file of a rank it is in does not matter.
TEST_F(ImportedWindowTest, OneValueOfACounterIsCarriedIntoTheWindow) {
  EventRules rules;
  rules.window = {100 * ms, 200 * ms};
  rules.clip = true;
  const auto counted = [](int ts_ms, int value) {
    return R"({"ph":"C","name":"lr","pid":1,"ts":)" + std::to_string(ts_ms * 1000) +
           R"(,"args":{"lr":)" + std::to_string(value) + "}}";
  };
  const std::vector<std::string> files{
      file("a-rank0.json",
           "[" + counted(10, 1) + "," + counted(20, 2) + "," + counted(150, 9) + "]"),
      file("b-rank0.json", "[" + counted(30, 3) + "," + counted(90, 4) + "]"),
      file("c-rank0.json", "[" + counted(40, 5) + "," + counted(50, 6) + "]")};
  std::vector<std::string> order = files;
  do {
    const ImportedTraces imported(order, {.folder = folder_.path().string()});
    EventSelection selection(rules, {});
    trace::merge(imported.paths(), folder_ / "merged", {.selection = &selection});
    const trace::ReadTrace read = trace::read_trace(folder_ / "merged");
    ASSERT_EQ(read.events.size(), 2U);
    EXPECT_EQ(trace::member(read.events[0], "args"), R"({"lr":4})");
    EXPECT_EQ(read.header.base_ns + read.times_ns[0], 100 * ms);
    EXPECT_EQ(trace::member(read.events[1], "args"), R"({"lr":9})");
    EXPECT_EQ(selection.counts().left_out(), 5U);
  } while (std::next_permutation(order.begin(), order.end()));
}

// But for those of "id2": {"local"}, which are of a process.
TEST_F(ImportedWindowTest, AnAsynchronousSliceMayEndInAnotherProcess) {
  EventRules rules;
  rules.window = {2 * ms, 3 * ms};
  std::string text = "[";
  const auto add = [&text](const char* phase, int pid, int ts, const std::string& id) {
    text += std::string(text.size() > 1 ? "," : "") + R"({"ph":")" + phase +
            R"(","name":"a","cat":"c","pid":)" + std::to_string(pid) + R"(,"ts":)" +
            std::to_string(ts) + "," + id + "}";
  };
  add("b", 1, 1000, R"("id2":{"global":"0x6"})");
  add("e", 2, 4000, R"("id2":{"global":"0x6"})");
  add("b", 1, 1000, R"("id":"0x7")");
  add("e", 2, 4000, R"("id":"0x7")");
  add("b", 1, 1000, R"("id2":{"local":"0x6"})");
  add("e", 2, 1500, R"("id2":{"local":"0x6"})");
  add("e", 1, 1600, R"("id2":{"local":"0x6"})");
  const auto events = chosen(file("async.json", text + "]"), rules);
  EXPECT_EQ(count_of(events, "b"), 2U);
  EXPECT_EQ(count_of(events, "e"), 2U);
}

}  // namespace
}  // namespace traceagent::tools
