#include "tools/import/import.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/process_ids.hpp"
#include "agent/trace/trace_reader.hpp"
#include "tests/unit/tools/import_fixture.hpp"
#include "tools/clocks/clock_nodes.hpp"
#include "tools/import/beginning_marks.hpp"
#include "tools/import/content_mark.hpp"
#include "tools/import/event_lines.hpp"
#include "tools/import/file_facts.hpp"

namespace traceagent::tools {
namespace {

TEST_F(ImportTest, TakesRanksFromContentThenNameThenTheUser) {
  ImportOptions options;
  const std::vector<std::string> files = {
      file("rank7.json", R"({"distributedInfo": {"rank": 3}, "traceEvents": [)" + event(1) + "]}"),
      file("rank-5.json", "[" + event(1) + "]"),
      file("trace_0.json", "[" + event(1) + "]"),
      file("odd.json", "[" + event(1) + "]"),
      file("given.rank5.json", "[" + event(1) + "]"),
  };
  options.ranks[files[4]] = 9;
  const auto reports = import(files, options);
  ASSERT_EQ(reports.size(), 5U);
  const std::int64_t ranks[] = {3, 5, 0, 1, 9};
  const char* from[] = {"content", "name", "name", "none", "--rank"};
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(reports[i].ranks, std::vector{ranks[i]}) << i;
    EXPECT_EQ(reports[i].rank_from, from[i]) << i;
  }
  EXPECT_EQ(merged_.ranks, (std::vector<std::int64_t>{0, 1, 3, 5, 9}));
}

// Kineto's groups name every rank.
TEST_F(ImportTest, TakesTheRankOfAJobWhoseGroupsAreTooLong) {
  std::string group = "{\"ranks\":[0";
  for (int rank = 1; rank < 70'000; ++rank) group += "," + std::to_string(rank);
  group += "]}";
  const std::string groups = R"("pg_config":[)" + group + "," + group + "]";
  const std::string rank = R"("rank":5,"world_size":70000)";
  for (const std::string& info : {rank + "," + groups, groups + "," + rank}) {
    const auto report = import({file("a.json", R"({"distributedInfo":{"backend":"nccl",)" + info +
                                                   R"(},"traceEvents":[)" + event(1) + "]}")})[0];
    EXPECT_EQ(report.ranks, std::vector{std::int64_t{5}});
    EXPECT_EQ(report.rank_from, "content");
    EXPECT_EQ(merged_.problem, "");
    const std::string merged = trace::read_whole(folder_ / "merged");
    EXPECT_NE(merged.find("\"world_size\": 70000"), merged.npos);
    EXPECT_NE(merged.find("\"pg_config\": \"left out: "), merged.npos);
    EXPECT_LT(merged.size(), 10'000U);
  }
}

TEST_F(ImportTest, TakesWhatIsNestedAsDeepAsPythonReads) {
  const auto nested = [](int depth) {
    const auto count = static_cast<std::size_t>(depth);
    return std::string(count, '[') + std::string(count, ']');
  };
  const int deepest = trace::deepest_json - 1;  // in an event
  const std::string args = R"("args":)" + nested(deepest);
  const auto report = import({file(
      "a.json", R"({"member":)" + nested(trace::deepest_json) + R"(,"traceEvents":[)" +
                    event(1, "," + args) + "," + event(2, R"(,"args":)" + nested(deepest + 1)) +
                    "," + event(3) + "]}")})[0];
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.dropped, (std::map<std::string, std::uint64_t>{{"too_deep", 1}}));
  for (const char* output : {"merged", "again"}) {
    read_ = trace::read_trace(folder_ / output);
    EXPECT_EQ(read_.problem, "");
    ASSERT_EQ(read_.events.size(), 2U);
    EXPECT_NE(read_.events[0].find(args), std::string::npos) << read_.events[0];
    EXPECT_NE(read_.footer.metadata.find(nested(trace::deepest_json)), std::string::npos);
    trace::merge({folder_ / output}, folder_ / "again", {});
  }
}

// As the README has it, and once more when the merged file is read.
TEST_F(ImportTest, LeavesNumbersOfAnySizeAsTheyStand) {
  const std::string args =
      R"("args":{"a":18446744073709551616,"b":-9223372036854775809,"c":[1e309]})";
  const auto report = import({file("a.json", "[" + event(1, "," + args) + "]")})[0];
  EXPECT_EQ(report.repaired, 0U);
  for (const char* output : {"merged", "again"}) {
    read_ = trace::read_trace(folder_ / output);
    ASSERT_EQ(read_.events.size(), 1U);
    EXPECT_NE(read_.events[0].find(args), std::string::npos) << read_.events[0];
    trace::merge({folder_ / output}, folder_ / "again", {});
  }
}

TEST_F(ImportTest, NamesLanesWhoseNumberIsNone) {
  const auto reports = import({file("odd.json", R"([{"ph":"X","pid":{"a":"b\\"},"tid":["c",
"\\"],"name":"e","dur":1,"ts":1}])")});
  EXPECT_EQ(reports[0].events, 1U);
  EXPECT_EQ(merged_.events, 1U);
  const std::string head = trace::read_whole(folder_ / "merged");
  EXPECT_NE(head.find(R"(rank 0: {\"a\":\"b\\\\\"})"), head.npos) << head;
  EXPECT_NE(head.find(R"([\"c\",\n\"\\\\\"])"), head.npos) << head;
}

TEST_F(ImportTest, BelievesARankThatStandsBehindTheEvents) {
  std::string text = "{\"traceEvents\": [";
  for (int i = 0; i < 1000; ++i) text += event(i) + ",";
  text += event(1000) + R"(], "distributedInfo": {"rank": 6}})";
  const auto reports = import({file("rank2.json", text)});
  EXPECT_EQ(reports[0].ranks, std::vector<std::int64_t>{6});
  EXPECT_EQ(reports[0].events, 1001U);
  EXPECT_EQ(merged_.events, 1001U);
  for (const std::string& line : read_.events) EXPECT_NE(line.find("000006,\"tid\":1"), line.npos);
}

// Which of the files of its rank are read before it must not hang on what its name said.
TEST_F(ImportTest, AFileThatTellsItsRankLateIsReadBehindTheOthersOfIt) {
  std::string late = "{\"traceEvents\": [";
  for (int i = 0; i < 300; ++i) late += event(i) + ",";
  late += R"({"ph":"i","pid":"late","tid":1,"ts":400}], "distributedInfo": {"rank": 6}})";
  std::string crowd = R"({"distributedInfo": {"rank": 6}, "traceEvents": [)";
  for (int i = 0; i < 990; ++i) {
    crowd += (i == 0 ? "" : ",") + std::string(R"({"ph":"i","tid":1,"ts":1,"pid":"p)") +
             std::to_string(i) + "\"}";
  }
  const std::string others = file("others_rank6.json", crowd + "]}");
  ImportOptions options;
  options.threads = 1;
  std::set<std::string> last_lines;
  for (const char* name : {"a.rank2.json", "a.rank7.json"}) {
    const auto reports = import({file(name, late), others}, options);
    EXPECT_EQ(reports[0].ranks, std::vector<std::int64_t>{6});
    EXPECT_EQ(merged_.events, 1291U);
    last_lines.insert(read_.events.back());
  }
  EXPECT_EQ(last_lines.size(), 1U) << *last_lines.begin() << *last_lines.rbegin();
}

TEST_F(ImportTest, PutsFilesWithoutClockWhereTheOthersBegin) {
  const std::string own = folder_ / "own.json";
  trace::write_sample(own, {.rank = 0, .base_ns = 1700000000000000000, .times_ns = {5000}});
  ImportOptions options;
  options.own_files = {own};
  const auto reports =
      import({file("a_1.json", "[" + event(500) + "," + event(400) + "]"), file("b_2.json", "[]")},
             options);
  EXPECT_FALSE(reports[0].has_clock);
  EXPECT_TRUE(reports[1].is_trace);
  EXPECT_EQ(read_.times_ns, (std::vector<std::int64_t>{1700000000000000000, 1700000000000005000,
                                                       1700000000000100000}));
  EXPECT_EQ(merged_.ranks, (std::vector<std::int64_t>{0, 1}));
}

// Traces of one name, rank and base are told apart by what they hold; one and the same stays one.
TEST_F(ImportTest, TellsFilesOfOneNameApartAndOneFileAgain) {
  std::filesystem::create_directories(folder_.path() / "a");
  std::filesystem::create_directories(folder_.path() / "b");
  const std::string a = file("a/t.json", "[" + event(1) + "]");
  const std::string b = file("b/t.json", "[" + event(1) + "," + event(2) + "]");
  import({a});
  ImportOptions options;
  options.own_files = {folder_ / "first.json"};
  std::filesystem::rename(folder_ / "merged", options.own_files[0]);
  const auto reports = import({b}, options);
  EXPECT_EQ(merged_.events, 3U);
  EXPECT_EQ(reports[0].ranks, std::vector<std::int64_t>{1});
  import({a}, options);
  EXPECT_EQ(merged_.events, 1U);
}

TEST_F(ImportTest, MergesAFolderAgainIntoAFileWithinIt) {
  const std::vector<std::string> files = {file("a.json", "[" + event(1) + "]"),
                                          file("b.json", "[" + event(1) + "," + event(2) + "]")};
  import(files);
  EXPECT_EQ(merged_.ranks, (std::vector<std::int64_t>{0, 1}));
  ImportOptions options;
  options.own_files = {folder_ / "first.json"};
  std::filesystem::rename(folder_ / "merged", options.own_files[0]);
  import(files, options);
  EXPECT_EQ(merged_.events, 3U);
  EXPECT_EQ(merged_.ranks, (std::vector<std::int64_t>{0, 1}));
}

TEST_F(ImportTest, AFileThatHasGrownSinceItWasMergedIsTakenOnce) {
  const std::vector<std::string> files = {file("a.json", "[" + event(1) + ","),
                                          file("b.json", "[" + event(1) + "," + event(2) + "]")};
  import(files);
  ImportOptions options;
  options.own_files = {folder_ / "first.json"};
  fs::rename(folder_ / "merged", options.own_files[0]);
  file("a.json", "[" + event(1) + "," + event(5) + "]");
  import(files, options);
  EXPECT_EQ(merged_.events, 4U);
  EXPECT_EQ(merged_.ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_TRUE(merged_.complete);
  // The other one is in the merged file alone: what is new cannot be told from what that has.
  import({files[0]}, options);
  EXPECT_EQ(merged_.events, 3U);
  EXPECT_FALSE(merged_.complete);
  EXPECT_TRUE(std::any_of(merged_.inputs.begin(), merged_.inputs.end(), [](const auto& input) {
    return input.problem.find("a trace that has grown since it was merged: ") == 0;
  }));
  // Another of that name, and one that is shorter now, are other files.
  file("a.json", "[ " + event(1) + "," + event(5) + "]");
  import({files[0]}, options);
  EXPECT_EQ(merged_.events, 5U);
}

TEST_F(ImportTest, AMergedFileMaySayAnythingOfTheFilesThatItWasMadeOf) {
  const std::string damaged = "[" + event(1) + ",#,";  // so it is written, not made of the file
  const std::string path = file("a.json", damaged);
  import({path});
  std::string text = trace::read_whole(folder_ / "merged");
  const std::size_t at = text.find("#1\", \"has_clock\"");
  ASSERT_NE(at, text.npos);
  text.insert(at + 1, std::string(100'000, '1'));
  ImportOptions options;
  options.own_files = {file("first.json", text)};
  file("a.json", damaged + event(5) + "]");
  const auto reports = import({path}, options);
  EXPECT_EQ(reports[0].events, 2U);
  // What it says is too long to be told on, so the file is left out, and not taken twice.
  EXPECT_EQ(merged_.events, 1U);
  ASSERT_FALSE(merged_.inputs.empty());
  EXPECT_TRUE(merged_.inputs[0].problem.starts_with("a trace that has grown since it was merged"))
      << merged_.inputs[0].problem;
}

TEST_F(ImportTest, TellsWhichShorterFilesOneBeginsWith) {
  const std::string text(600'000, 'x');
  std::set<std::string> marks = {"", "-", "0-5", "00000000-5", "00000000-18446744073709551615"};
  std::set<std::string> expected;
  for (const std::size_t bytes : {1UL, 7UL, 262'144UL, 262'145UL, 599'999UL}) {
    expected.insert(content_mark(file("begin", text.substr(0, bytes))));
  }
  marks.insert(expected.begin(), expected.end());
  marks.insert(content_mark(file("other", "y" + text.substr(0, 100))));
  const std::string whole = file("whole", text);
  marks.insert({content_mark(whole), content_mark(file("longer", text + "x"))});
  EXPECT_EQ(marks_of_beginnings(whole, marks), expected);
  EXPECT_TRUE(marks_of_beginnings(folder_ / "none", marks).empty());
}

TEST_F(ImportTest, TakesNoPidForARankThatNoneCanBe) {
  const auto reports = import({file("m.json", R"([{"name":"global_rank","ph":"M","ts":0,"pid":3,)"
                                              R"("args":{"value":3}},)"
                                              R"({"ph":"i","pid":1000000,"tid":1,"ts":1}])")});
  EXPECT_EQ(reports[0].ranks, std::vector<std::int64_t>{3});
}

// One event with a small time, first or not, does not make the others relative.
TEST_F(ImportTest, TakesEachTimeForWhatItIs) {
  const std::int64_t us = 1'700'000'000'000'000;
  const std::vector<std::int64_t> without = {us * 1000, us * 1000, (us + 7) * 1000};
  const std::vector<std::int64_t> with = {us * 1000, (us + 1) * 1000, (us + 7) * 1000};
  const std::string members = R"({"baseTimeNanoseconds": 1700000000000000000, "traceEvents": [)";
  for (const std::string& events : {event(1) + "," + event(us) + "," + event(us + 7),
                                    event(us) + "," + event(us + 7) + "," + event(1)}) {
    EXPECT_TRUE(import({file("rank0.json", "[" + events + "]")})[0].has_clock);
    EXPECT_EQ(read_.times_ns, without) << events;
    EXPECT_EQ(merged_.complete, false);
    EXPECT_EQ(import({file("rank0.json", members + events + "]}")})[0].placed, 0U);
    EXPECT_EQ(read_.times_ns, with) << events;
    EXPECT_EQ(merged_.events, 3U);
  }
}

// Whose time was never set.
TEST_F(ImportTest, TellsOfEventsWithoutARealTimeAmongOthers) {
  const std::int64_t us = 1'700'000'000'000'000;
  const std::string events = event(us) + "," + event(0) + "," + event(us + 7) + "," + event(-300);
  EXPECT_EQ(import({file("rank0.json", "[" + events + "]")})[0].placed, 2U);
  EXPECT_EQ(trace::integer_member(imported_metadata(), "placed"), 2);
  EXPECT_NE(trace::string_member(imported_metadata(), "problem"), std::nullopt);
  EXPECT_EQ(import({file("rank0.json", "[" + event(us) + "," + event(us) + "]")})[0].placed, 0U);
  EXPECT_EQ(import({file("rank0.json", "[" + event(0) + "," + event(-3) + "]")})[0].placed, 0U);
}

TEST_F(ImportTest, OneProcessHasOneLaneHoweverItsNumberIsWritten) {
  const std::string lane = R"({"ph":"i","name":"e","ts":1,)";
  import({file("rank0.json", "[" + lane + R"("pid":1,"tid":2},)" + lane +
                                 R"("pid":1.0,"tid":2.0},)" + lane + R"("pid":"1","tid":"2"}])")});
  std::set<std::string> lanes;
  for (const std::string& line : read_.events) {
    lanes.insert(std::string(trace::member(line, "pid").value_or("")) + " " +
                 std::string(trace::member(line, "tid").value_or("")));
  }
  EXPECT_EQ(lanes.size(), 1U);
}

TEST_F(ImportTest, CountsEachEventThatIsLost) {
  const auto reports =
      import({file("rank0.json", "[" + event(1) + R"(,{"ph":"X"},{"ph":"X","ts":"?"},4,{},)" +
                                     event(2).substr(0, 20))});
  const std::map<std::string, std::uint64_t> dropped = {
      {"no_ts", 1}, {"bad_ts", 1}, {"not_an_object", 1}, {"cut", 1}};
  EXPECT_EQ(reports[0].dropped, dropped);
  EXPECT_EQ(merged_.dropped, dropped);
  EXPECT_EQ(merged_.events, 1U);
  EXPECT_FALSE(merged_.complete);
}

// A file that has as many processes or threads as events takes no more memory, loses none, and says
// so.
TEST_F(ImportTest, PutsProcessesAndThreadsBeyondABoundTogether) {
  constexpr int count = 20'000;
  for (const char* const lane : {R"("tid":1,"pid":"process )", R"("pid":1,"tid":"thread )"}) {
    std::string text = "[" + event(0) + ",";
    for (int i = 1; i <= count; ++i) {
      text += std::string(R"({"ph":"i","name":"e",)") + lane + std::to_string(i) + R"(","ts":)" +
              std::to_string(i) + "},";
    }
    const ImportedFile report = import({file("rank0.json", text)})[0];
    EXPECT_EQ(report.events, count + 1U);
    EXPECT_EQ(merged_.events, count + 1U);
    EXPECT_TRUE(report.dropped.empty());
    EXPECT_GT(report.crowded, count / 2U);
    EXPECT_LE(report.crowded, report.events);
    EXPECT_LE(report.crowded, count + 1U - ForeignPids::claims);
    // Those that have a lane are named.
    EXPECT_LT(read_.metadata_events.size(), 2U * count);
    EXPECT_GT(read_.metadata_events.size(), count - report.crowded);
  }
}

// Whose process and thread both share, and whose process is named too.
TEST_F(ImportTest, CountsAnEventInSharedLanesOnce) {
  constexpr int count = 20'000;
  std::string text = "[";
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    text += R"({"ph":"M","name":"process_name","pid":)" + number + R"(,"args":{"name":"p"}},)" +
            R"({"ph":"i","name":"e","pid":)" + number + R"(,"tid":"t)" + number + R"(","ts":)" +
            number + "},";
  }
  const ImportedFile report = import({file("rank0.json", text)})[0];
  EXPECT_EQ(report.events, std::uint64_t{count});
  EXPECT_EQ(report.crowded, count - ForeignPids::claims);
}

// The numbers that a rank has for them are all taken, by one file or by several.
TEST_F(ImportTest, PutsProcessesBeyondTheNumbersOfARankTogether) {
  constexpr int count = static_cast<int>(ForeignPids::claims) + 2;
  const auto processes = [](int begin, int end) {
    std::string text = "[";
    for (int i = begin; i < end; ++i) {
      text += R"({"ph":"i","name":"e","tid":1,"pid":)" + std::to_string(i) + R"(,"ts":)" +
              std::to_string(i) + "},";
    }
    return text;
  };
  for (const int first : {count, 600}) {
    std::vector<std::string> files = {file("rank3-a.json", processes(0, first))};
    if (first < count) files.push_back(file("rank3-b.json", processes(first, count)));
    EXPECT_EQ(import(files).back().crowded, 2U);
    std::map<std::int64_t, int> events_of_pid;
    for (const std::string& read : read_.events) {
      ++events_of_pid[trace::integer_member(read, "pid").value_or(-1)];
    }
    EXPECT_EQ(std::ssize(events_of_pid), ForeignPids::claims + 1);
    EXPECT_EQ(events_of_pid[ForeignPids::pid_of_crowd(3)], 2);
  }
}

// What clocks want to know of a file is the same whether the import tells it or it is read: a
// kernel may be a collective, and then it is.
TEST_F(ImportTest, TellsClocksItsTimes) {
  constexpr std::int64_t us = 1'700'000'000'000'000;
  std::string events = event(us);
  for (const int ms : {1, 300, 900, 2500, 2600, 9000}) events += "," + event(us + ms * 1000);
  const auto spans_of = [this](const std::string& text, bool is_told) {
    ImportOptions options;
    options.folder = folder_.path().string();
    const ImportedTraces imported({file("rank0.json", text)}, options);
    EXPECT_EQ(trace::read_whole(imported.paths().back()).find("quiet_ns") != text.npos, is_told);
    std::vector<ClockNode> nodes = clock_nodes(imported.paths());
    read_events(
        nodes.at(0), [](auto, auto) {}, [](auto) {});
    std::vector<std::int64_t> spans;
    for (const ClockSpan& span : nodes[0].spans) {
      spans.insert(spans.end(), {span.from_ns / 1'000'000, span.until_ns / 1'000'000});
    }
    return spans;
  };
  const std::int64_t ms = us / 1000;
  const std::vector<std::int64_t> spans = {ms,        ms + 900,  ms + 2500,
                                           ms + 2600, ms + 9000, ms + 9000};
  EXPECT_EQ(spans_of("[" + events + "]", true), spans);
  EXPECT_EQ(spans_of("[" + events + "," + event(us + 9, R"(,"cat":"kernel")") + "]", false), spans);
}

TEST_F(ImportTest, BelievesTheRankThatComposerAddsToPyTorchsFiles) {
  const auto reports = import({
      file("host_1.pt.trace.json",
           R"({"schemaVersion": 1, "traceEvents": [)" + event(1) + R"(], "global_rank": 4})"),
      file("host_2.pt.trace.json",
           R"({"global_rank": 4, "distributedInfo": {"rank": 5}, "traceEvents": []})"),
  });
  EXPECT_EQ(reports[0].ranks, std::vector<std::int64_t>{4});
  EXPECT_EQ(reports[0].rank_from, "content");
  EXPECT_EQ(reports[0].kind, "PyTorch");
  EXPECT_EQ(reports[1].ranks, std::vector<std::int64_t>{5});
}

TEST_F(ImportTest, MergesFilesInAnyOrderOfEvents) {
  std::string text = "[";
  std::uint64_t random = 1;
  for (int i = 0; i < 60'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    text += event(static_cast<std::int64_t>(random >> 34U),
                  ",\"args\":{\"text\":\"" + std::string(400, 'x') + "\"}") +
            ",\n";
  }
  const auto reports = import({file("rank0.json", text)});
  EXPECT_EQ(merged_.problem, "");
  EXPECT_EQ(merged_.events, 60'000U);
  EXPECT_TRUE(std::is_sorted(read_.times_ns.begin(), read_.times_ns.end()));
  EXPECT_LT(merged_.peak_reader_bytes, std::size_t{8} << 20);
  // Nothing stays behind.
  for (const auto& entry : std::filesystem::directory_iterator(folder_.path())) {
    EXPECT_FALSE(entry.is_directory()) << entry.path();
  }
}

TEST_F(ImportTest, OurOwnFileThatAnotherProgramSavedKeepsItsRanks) {
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    const std::string about =
        R"({"identity": {"rank": )" + std::to_string(rank) + R"(}, "dropped": {"ring_full": 2}})";
    ranks.push_back(trace::write_sample(folder_ / ("r" + std::to_string(rank) + ".json"),
                                        {.rank = rank,
                                         .times_ns = {rank, 10 + rank},
                                         .metadata = about,
                                         .pid = rank == 1 ? 1000001 : -1,
                                         .run_key = "k"}));
  }
  const std::string node = folder_ / "node0.json";
  ASSERT_EQ(trace::merge({ranks[0], ranks[1]}, node).problem, "");
  const trace::ReadTrace expected = trace::read_trace(node);
  const auto reports = import({file("again.json", saved_again(node))});
  EXPECT_EQ(reports[0].kind, "TraceAgent");
  EXPECT_EQ(reports[0].ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(read_.events, expected.events);
  EXPECT_EQ(read_.times_ns, expected.times_ns);
  for (const char* name : {"rank 0", "rank 1"}) {
    const std::string named = "{\"name\": \"" + std::string(name) + "\"}";
    EXPECT_TRUE(std::any_of(read_.metadata_events.begin(), read_.metadata_events.end(),
                            [&](const std::string& line) { return line.find(named) != line.npos; }))
        << name;
  }
  EXPECT_EQ(merged_.ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(merged_.dropped.at("ring_full"), 4U);
  EXPECT_TRUE(merged_.complete);
}

TEST_F(ImportTest, OurOwnFileThatAnotherProgramSavedIsNotTakenTwice) {
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(trace::write_sample(folder_ / ("r" + std::to_string(rank) + ".json"),
                                        {.rank = rank, .times_ns = {rank}, .run_key = "k"}));
  }
  const std::string node = folder_ / "node0.json";
  ASSERT_EQ(trace::merge({ranks[0], ranks[1]}, node).problem, "");
  const std::string again = file("again.json", saved_again(node));
  const std::string of_rank = file("again2.json", saved_again(ranks[2]));
  ImportOptions options;
  options.own_files = {ranks[0], ranks[1]};
  const auto reports = import({again, again, of_rank}, options);
  EXPECT_EQ(reports[0].left_out, "other files that are given hold all of it");
  EXPECT_EQ(reports[2].left_out, "");
  EXPECT_EQ(merged_.events, 3U);
  options.own_files = {ranks[1]};
  const auto overlapping = import({again}, options);
  EXPECT_NE(overlapping[0].problem.find("merged files overlap: " + again), std::string::npos);
  EXPECT_EQ(merged_.events, 1U);
  EXPECT_EQ(import({again, again})[1].left_out, "other files that are given hold all of it");
  // Nor beside what it has gone into.
  import({again, of_rank});
  const std::string with_it = folder_ / "with_it";
  fs::rename(folder_ / "merged", with_it);
  EXPECT_EQ(trace::merge({with_it, ranks[0], node, ranks[2]}, folder_ / "all", {}).events, 3U);
  options.own_files = {with_it};
  EXPECT_EQ(import({again}, options)[0].left_out, "other files that are given hold all of it");
  EXPECT_EQ(merged_.events, 3U);
}

TEST_F(ImportTest, WhatIsDamagedOfOursGivesWayToAWholeFileThatAnotherProgramSaved) {
  ImportOptions options;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    options.own_files.push_back(
        trace::write_sample(folder_ / ("r" + std::to_string(rank) + ".json"),
                            {.rank = rank, .times_ns = {rank, rank + 5}, .run_key = "k"}));
  }
  const std::string node = folder_ / "node0.json";
  ASSERT_EQ(trace::merge(options.own_files, node).problem, "");
  const std::string again = file("again.json", saved_again(node));
  const std::string whole = trace::read_whole(options.own_files[0]);
  std::string damaged = whole;
  damaged[damaged.find("{\"ts\":") + 1] = '#';
  for (const std::string& text : {whole.substr(0, whole.size() - 100), damaged}) {
    trace::write_whole(options.own_files[0], text);
    EXPECT_EQ(import({again}, options)[0].left_out, "");
    EXPECT_EQ(merged_.events, 4U);
    EXPECT_TRUE(merged_.complete);
    // Beside a copy that is whole ours are taken.
    ImportOptions with_copy = options;
    with_copy.own_files.push_back(file("copy.json", whole));
    EXPECT_NE(import({again}, with_copy)[0].left_out, "");
    EXPECT_EQ(merged_.events, 4U);
    // One that is cut itself replaces nothing.
    const std::string text_again = saved_again(node);
    const std::string cut = file("cut.json", text_again.substr(0, text_again.rfind("{\"ts\":")));
    import({cut}, options);
    EXPECT_LT(merged_.events, 4U);
    EXPECT_FALSE(merged_.complete);
    // Nor one that lacks an event without a trace of it.
    std::string less = text_again;
    const std::size_t comma = less.rfind(',', less.rfind("{\"ts\":"));
    less.erase(comma, less.find(" ]", comma) - comma);
    const ImportedFile of_less = import({file("less.json", less)}, options)[0];
    EXPECT_NE(of_less.problem.find("merged files overlap: "), std::string::npos);
  }
}

TEST_F(ImportTest, AFileThatWasMadeOfACutOneReplacesNothing) {
  ImportOptions options;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    options.own_files.push_back(
        trace::write_sample(folder_ / ("r" + std::to_string(rank) + ".json"),
                            {.rank = rank, .times_ns = {rank, rank + 5}, .run_key = "k"}));
  }
  const std::string whole = trace::read_whole(options.own_files[1]);
  trace::write_whole(options.own_files[1], whole.substr(0, whole.rfind("{\"ts\":")));
  const std::string node = folder_ / "node0.json";
  ASSERT_EQ(trace::merge(options.own_files, node).events, 3U);
  const std::string again = file("again.json", saved_again(node));
  // Now rank 1 is whole, and it is rank 0 that is damaged.
  trace::write_whole(options.own_files[1], whole);
  std::string damaged = trace::read_whole(options.own_files[0]);
  damaged[damaged.rfind("{\"ts\":") + 1] = '#';
  trace::write_whole(options.own_files[0], damaged);
  EXPECT_NE(import({again}, options)[0].left_out, "");
  EXPECT_EQ(merged_.events, 3U);
  EXPECT_FALSE(merged_.complete);
}

TEST_F(ImportTest, OurOwnFileThatAnotherProgramSavedIsNotTakenBesideWhatWasImportedIntoIt) {
  const std::string first = file("rank0.json", "[" + event(1) + "]");
  const std::string second = file("rank1.json", "[" + event(2) + "]");
  import({first, second});
  ASSERT_EQ(merged_.events, 2U);
  const std::string again = file("again.json", saved_again(folder_ / "merged"));
  for (const auto& files : {std::vector{again, first, second}, std::vector{first, second, again}}) {
    import(files);
    EXPECT_EQ(merged_.events, 2U);
    EXPECT_TRUE(merged_.complete);
  }
  EXPECT_EQ(import({again, first, second})[0].left_out,
            "other files that are given hold all of it");
  EXPECT_EQ(import({again, first})[0].left_out, "");
  EXPECT_EQ(merged_.events, 2U);
}

}  // namespace
}  // namespace traceagent::tools
