#include <gtest/gtest.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "agent/trace/json_scan.hpp"
#include "tests/unit/tools/import_fixture.hpp"
#include "tools/import/foreign_ids.hpp"

namespace traceagent::tools {
namespace {

std::string of_process(const std::string& pid, std::int64_t ts) {
  return R"({"ph":"X","tid":1,"name":"of )" + pid + R"(","dur":1,"pid":)" + pid + R"(,"ts":)" +
         std::to_string(ts) + "}";
}

// By name: the pids of the slices, which begin with "of ".
std::map<std::string, std::set<std::int64_t>> pids_by_name(const std::vector<std::string>& events) {
  std::map<std::string, std::set<std::int64_t>> pids;
  for (const std::string& event : events) {
    const std::string name(trace::string_member(event, "name").value_or(""));
    if (name.starts_with("of ")) pids[name].insert(trace::integer_member(event, "pid").value_or(0));
  }
  return pids;
}

// A file of Composer's: of each rank, how much its clock is ahead and when its events are, in us.
struct ComposersRank {
  std::int64_t rank = 0;
  std::vector<std::int64_t> times_us;
  std::int64_t shift_us = 0;
};
std::string composers(const std::vector<ComposersRank>& ranks) {
  constexpr std::int64_t epoch_us = 1'700'000'000'000'000;
  std::string text;
  for (const ComposersRank& each : ranks) {
    const std::string lane = R"(,"tid":71,"pid":)" + std::to_string(each.rank);
    text += std::string(text.empty() ? "[" : ",") + R"({"ph":"M","name":"global_rank","ts":1)" +
            lane + R"(,"args":{"value":)" + std::to_string(each.rank) + "}}";
    for (const std::int64_t us : each.times_us) {
      text += R"(,{"ph":"i","name":"b","ts":)" + std::to_string(epoch_us + us + each.shift_us) +
              lane + "}";
    }
  }
  return text + "]";
}

// A process of rank 0 that would have the number of its process 1.
std::string twin_of_1() {
  const auto pid_of = [](int process) {
    return ForeignPids().pid(0, ForeignKind::chrome, std::to_string(process));
  };
  int twin = 2;
  while (pid_of(twin) != pid_of(1)) ++twin;
  return std::to_string(twin);
}

// One that came into a merged file before has its number, whatever comes to it.
TEST_F(ImportTest, AProcessHasOneLaneWhateverIsMergedFirst) {
  const std::string other = twin_of_1();
  const std::string first = file("a-rank0.json", "[" + of_process(other, 1) + "]");
  const std::string second =
      file("b-rank0.json", "[" + of_process("1", 2) + "," + of_process(other, 3) + "]");
  import({first});
  const std::string merged = folder_ / "node0.json";
  fs::rename(folder_ / "merged", merged);
  import({second}, {.own_files = { merged }});
  const auto pids = pids_by_name(read_.events);
  ASSERT_EQ(pids.size(), 2U);
  EXPECT_EQ(pids.at("of 1").size(), 1U);
  EXPECT_EQ(pids.at("of " + other).size(), 1U);
  EXPECT_NE(pids.at("of 1"), pids.at("of " + other));
}

// Nor does it matter that another program has saved the merged file in between.
TEST_F(ImportTest, AProcessHasOneLaneInAFileThatAnotherProgramSaved) {
  const std::string other = twin_of_1();
  import({file("c-rank0.json", "[" + of_process("1", 1) + "," + of_process(other, 2) + "]")});
  std::string text = trace::read_whole(folder_ / "merged");
  std::replace(text.begin(), text.end(), '\n', ' ');
  const std::string saved = file("saved.json", text);
  import({file("a-rank0.json", "[" + of_process(other, 3) + "]"), saved});
  const auto pids = pids_by_name(read_.events);
  ASSERT_EQ(pids.size(), 2U);
  EXPECT_EQ(pids.at("of " + other).size(), 1U);
  EXPECT_NE(pids.at("of 1"), pids.at("of " + other));
}

TEST_F(ImportTest, AListWithoutEventsTakesNoRank) {
  const auto reports =
      import({file("a.json", "[]"), file("b.json", R"({"traceEvents":[]})"),
              file("c.json", R"({"traceEvents":[{}]})"), file("d.json", "[" + event(1) + "]")});
  EXPECT_EQ(reports[3].ranks, std::vector<std::int64_t>{0});
  EXPECT_EQ(merged_.ranks, std::vector<std::int64_t>{0});
  EXPECT_EQ(merged_.problem, "");
}

// Wherever in the file, and whatever else it says.
TEST_F(ImportTest, BelievesARankInALongMetadataEvent) {
  const std::string told =
      R"({"ph":"M","name":"global_rank","cat":"","ts":1,"dur":0,"pid":5,"tid":1,"s":"p","args":{"value":5}})";
  std::string late = "[";
  for (int i = 0; i < 300; ++i) late += event(1) + ",";
  const auto reports = import(
      {file("a.json", "[" + told + "," + event(1) + "]"), file("b.json", late + told + "]")});
  for (const ImportedFile& report : reports) {
    EXPECT_EQ(report.kind, "Composer") << report.path;
    EXPECT_EQ(report.rank_from, "content") << report.path;
    EXPECT_TRUE(std::find(report.ranks.begin(), report.ranks.end(), 5) != report.ranks.end());
  }
}

TEST_F(ImportTest, SaysNoSizeOfTheWorldThatNobodyTold) {
  const auto world_size = [&](const std::vector<std::string>& files) {
    import(files);
    trace::TraceReader reader;
    EXPECT_TRUE(reader.open(folder_ / "merged"));
    return trace::integer_member(reader.header().distributed_info, "world_size");
  };
  const std::string composer = file("ep0-rank2.json", composers({{2, {10, 25}}}));
  const std::string told =
      file("t.json", R"({"distributedInfo": {"rank": 1, "world_size": 2}, "traceEvents": [)" +
                         event(1) + "]}");
  EXPECT_EQ(world_size({composer}), std::nullopt);
  EXPECT_EQ(world_size({told}), 2);
  EXPECT_EQ(world_size({composer, told}), 3) << "there is a rank 2";
}

TEST_F(ImportTest, WhatComposerMergedIsNotTakenBesideItsRanks) {
  const std::string first = file("ep0-rank0.json", composers({{0, {10, 25}}}));
  const std::string second = file("ep0-rank1.json", composers({{1, {12, 26}}}));
  const std::string merged =
      file("merged_trace.json", composers({{0, {10, 25}}, {1, {12, 26}, 7}}));
  EXPECT_EQ(import({first, second, merged})[2].left_out,
            "it holds what the files of its 2 ranks hold, which are given too");
  EXPECT_EQ(merged_.events, 4U);
  EXPECT_EQ(import({merged})[0].left_out, "");
  EXPECT_EQ(merged_.events, 4U);
  // Another cycle of the same work is not in it.
  const std::string later = file("ep1-rank0.json", composers({{0, {110, 125}}}));
  const std::string later2 = file("ep1-rank1.json", composers({{1, {112, 126}}}));
  EXPECT_EQ(import({later, later2, merged})[2].left_out, "");
  EXPECT_EQ(import({first, second, later, later2, merged})[4].left_out,
            "it holds what the files of its 2 ranks hold, which are given too");
  EXPECT_EQ(merged_.events, 8U);
}

// With the second cycle Composer makes every rank of the first one rank 0.
TEST_F(ImportTest, WhatComposerMergedOfSeveralCyclesIsNotTakenBesideThem) {
  const std::vector<std::string> cycles = {file("ep0-rank0.json", composers({{0, {10, 25}}})),
                                           file("ep0-rank1.json", composers({{1, {12, 26}}})),
                                           file("ep1-rank0.json", composers({{0, {110, 125}}})),
                                           file("ep1-rank1.json", composers({{1, {112, 126}}}))};
  const std::string merged =
      file("merged_trace.json", composers({{0, {10, 25, 12, 26, 110, 125}}, {1, {112, 126}}}));
  std::vector<std::string> files = cycles;
  files.push_back(merged);
  EXPECT_EQ(import(files)[4].left_out,
            "it holds what the files of its 2 ranks hold, which are given too");
  EXPECT_EQ(merged_.events, 8U);
  // Nothing is lost of what it alone has, and what stands in the output twice is said.
  const auto reports = import({cycles[2], cycles[3], merged});
  EXPECT_EQ(reports[2].left_out, "");
  EXPECT_NE(
      reports[2].problem.find("events given twice: " + merged + ": at least 1 of its 2 ranks"),
      std::string::npos)
      << reports[2].problem;
  EXPECT_EQ(merged_.events, 12U);
  EXPECT_FALSE(merged_.complete);
}

// Cycles do the same work, and the sums over them agree.
TEST_F(ImportTest, WhatComposerMergedOfOtherCyclesIsTaken) {
  const std::string first = file("ep0-rank0.json", composers({{0, {10, 25}}}));
  const std::string second = file("ep1-rank0.json", composers({{0, {110, 125}}}));
  const auto of_rank_1 = [&](const char* name, std::int64_t begin) {
    return file(name, composers({{1, {begin, begin + 14}}}));
  };
  const std::string other = of_rank_1("ep0-rank1.json", 12);
  const std::string last = of_rank_1("ep1-rank1.json", 112);
  const std::string later = of_rank_1("ep2-rank1.json", 212);
  // A rank's only file is of another cycle, in which the work took longer.
  const std::string one = file("one.json", composers({{0, {10, 25}}, {1, {12, 26}}}));
  const std::string longer = file("longer-rank1.json", composers({{1, {112, 137}}}));
  EXPECT_EQ(import({first, longer, one})[2].left_out, "");
  EXPECT_EQ(merged_.events, 6U) << "what is equal is there once";
  // Of two cycles; a rank has others than those.
  const std::string two =
      file("two.json", composers({{0, {10, 25, 12, 26, 110, 125}}, {1, {112, 126}}}));
  EXPECT_EQ(import({first, second, other, last, two})[4].left_out,
            "it holds what the files of its 2 ranks hold, which are given too");
  EXPECT_EQ(import({first, second, last, later, two})[4].left_out, "");
  EXPECT_EQ(merged_.events, 14U) << "what is equal is there once";
}

TEST_F(ImportTest, WhatComposerMergedOfOneRankIsNotTakenBesideIt) {
  const std::string first = file("ep0-rank0.json", composers({{0, {10, 25}}}));
  const std::string second = file("ep1-rank0.json", composers({{0, {110, 125}}}));
  const std::string merged = file("merged_trace.json", composers({{0, {10, 25}}, {0, {110, 125}}}));
  EXPECT_EQ(import({first, second, merged})[2].left_out,
            "it holds what other files of its rank hold, which are given too");
  EXPECT_EQ(merged_.events, 4U);
}

TEST_F(ImportTest, ACopyIsTakenOnce) {
  for (const char* name : {"a", "b"}) fs::create_directories(folder_.path() / name);
  const std::string text = "[" + event(1) + "," + event(2) + "]";
  const std::string plain = file("a/x.json", text);
  const auto gzip = [&](const std::string& name, int members) {
    std::string bytes;
    for (int i = 0; i < members; ++i) {
      gzFile to = gzopen((folder_ / name).c_str(), i == 0 ? "wb" : "ab");
      gzwrite(to, text.data(), static_cast<unsigned>(text.size()));
      gzclose(to);
    }
    return folder_ / name;
  };
  for (const std::string& copy : {file("b/x.json", text), gzip("a/x.json.gz", 1)}) {
    EXPECT_EQ(import({plain, copy})[1].left_out, "a copy of " + plain) << copy;
    EXPECT_EQ(merged_.events, 2U);
  }
  // What only looks alike is not: another name, a rank that the user gives, more text behind it.
  const std::string other = file("b/y.json", text);
  EXPECT_EQ(import({plain, other})[1].left_out, "");
  const std::string twice = gzip("b/x.json.gz", 2);
  EXPECT_EQ(import({plain, twice})[1].left_out, "");
  EXPECT_EQ(merged_.events, 6U);
  ImportOptions options;
  options.ranks = {{plain, 0}, {folder_ / "b/x.json", 1}};
  EXPECT_EQ(import({plain, folder_ / "b/x.json"}, options)[1].left_out, "");
  EXPECT_EQ(merged_.ranks, (std::vector<std::int64_t>{0, 1}));
  // Whatever it is called, where its content tells whose it is, or its times.
  const std::string epoch = "[" + event(1'700'000'000'000'000) + "]";
  EXPECT_EQ(import({file("m.json", epoch), file("n.json", epoch)})[1].left_out,
            "a copy of " + (folder_ / "m.json"));
  EXPECT_EQ(import({file("rank0.json", epoch), file("rank1.json", epoch)})[1].left_out, "");
  const std::string ranked = R"({"distributedInfo": {"rank": 3}, "traceEvents": )" + text + "}";
  EXPECT_EQ(import({file("k.json", ranked), file("l.json", ranked)})[1].left_out,
            "a copy of " + (folder_ / "k.json"));
}

// Whatever it is called by then; and it keeps the rank that it had.
TEST_F(ImportTest, WhatWasMergedIsKnownByItsText) {
  const std::string events = "[" + event(1) + "," + event(2) + "]";
  const std::string text =
      R"({"baseTimeNanoseconds": 1780000000000000000, "traceEvents": )" + events + "}";
  const std::string other = file("a.json", "[" + event(5) + "]");
  import({other, file("x.json", text)});
  const std::string merged = folder_ / "node0.json";
  fs::rename(folder_ / "merged", merged);
  const ImportOptions beside{.own_files = {merged}};
  gzFile to = gzopen((folder_ / "x.json.gz").c_str(), "wb");
  gzwrite(to, text.data(), static_cast<unsigned>(text.size()));
  gzclose(to);
  for (const std::string& again : {folder_ / "x.json.gz", file("other.json", text)}) {
    EXPECT_EQ(import({again}, beside)[0].ranks, std::vector<std::int64_t>{1}) << again;
    EXPECT_EQ(merged_.events, 3U) << again;
    EXPECT_EQ(import({again, other}, beside)[0].ranks, std::vector<std::int64_t>{1}) << again;
    EXPECT_EQ(merged_.events, 3U) << again;
  }
  // Another one's times may be the same where they count from nobody knows when.
  import({other, file("x.json", events)});
  fs::rename(folder_ / "merged", merged);
  fs::create_directories(folder_.path() / "copies");
  const auto rank = [&](const std::string& path) {
    return import({path}, beside)[0].ranks.front();
  };
  EXPECT_EQ(rank(file("copies/x.json", events)), 1);
  EXPECT_EQ(merged_.events, 3U);
  EXPECT_EQ(rank(file("y.json", events)), 2);
  EXPECT_EQ(merged_.events, 5U);
}

TEST_F(ImportTest, OfTwoRanksThatAreToldEqualTextsAreTwoFiles) {
  const std::string text = "[" + event(1) + "," + event(2) + "]";
  const std::string merged = folder_ / "node0.json";
  const auto events_beside = [&](const std::string& path, ImportOptions options = {}) {
    options.own_files = {merged};
    import({path}, options);
    return merged_.events;
  };
  const auto merge = [&](const std::vector<std::string>& paths, const ImportOptions& options = {}) {
    import(paths, options);
    fs::rename(folder_ / "merged", merged);
    return merged_.events;
  };
  for (const char* folder : {"rank0", "rank1", "copies"}) fs::create_directories(folder_ / folder);
  const std::string first = file("rank0/x.json", text);
  const std::string second = file("rank1/x.json", text);
  const std::string nobodys = file("copies/x.json", text);
  EXPECT_EQ(merge({first}), 2U);
  EXPECT_EQ(events_beside(first), 2U);
  EXPECT_EQ(events_beside(nobodys), 2U);
  EXPECT_EQ(events_beside(second), 4U);
  EXPECT_EQ(merge({first, second}), 4U);
  for (const std::string& path : {first, second, nobodys})
    EXPECT_EQ(events_beside(path), 4U) << path;
  EXPECT_EQ(events_beside(nobodys, {.ranks = {{nobodys, 7}}}), 6U);
  // A rank that the user has told in place of the name's.
  EXPECT_EQ(merge({first}, {.ranks = {{first, 5}}}), 2U);
  EXPECT_EQ(events_beside(first), 2U);
  EXPECT_EQ(events_beside(second), 4U);
}

TEST_F(ImportTest, WhatWasShorterIsKnownWhateverItIsCalled) {
  const std::string base = R"({"baseTimeNanoseconds": 1780000000000000000, "traceEvents": [)";
  const std::string early = base + event(1) + ",\n";
  const std::string text = early + event(2) + "]}";
  import({file("x.json", early)});
  const std::string merged = folder_ / "node0.json";
  fs::rename(folder_ / "merged", merged);
  const std::string packed = folder_ / "y.json.gz";
  gzFile to = gzopen(packed.c_str(), "wb");
  gzwrite(to, text.data(), static_cast<unsigned>(text.size()));
  gzclose(to);
  for (const std::string& whole : {file("x.json", text), file("y.json", text), packed}) {
    import({whole}, {.own_files = { merged }});
    EXPECT_EQ(merged_.events, 2U) << whole;
    EXPECT_TRUE(merged_.complete) << whole;
  }
}

TEST_F(ImportTest, ABeginningIsNotTakenBesideTheWhole) {
  fs::create_directories(folder_.path() / "early");
  const std::string text = "[" + event(1) + ",\n" + event(2) + ",\n" + event(3) + "]";
  const std::string whole = file("rank3.json", text);
  const auto early = [&](const std::string& beginning) {
    const auto reports = import({file("early/rank3.json", beginning), whole});
    EXPECT_TRUE(reports[0].problem.empty() || reports[0].left_out.empty()) << beginning;
    return reports[0].left_out;
  };
  const std::size_t second = text.find(event(2));
  for (const std::size_t bytes : {second, second - 1, second - 2, second + 9, text.size() - 1}) {
    EXPECT_EQ(early(text.substr(0, bytes)), "a copy of the beginning of " + whole) << bytes;
    EXPECT_EQ(merged_.events, 3U) << bytes;
    EXPECT_TRUE(merged_.complete) << bytes;
  }
  EXPECT_EQ(early("[" + event(1) + "\n]"), "a copy of the beginning of " + whole);
  // What has anything of its own is taken, and nothing is left out for what has no event.
  EXPECT_EQ(early(text.substr(0, second) + event(2, R"(,"args":{})")), "");
  EXPECT_EQ(merged_.events, 5U);
  EXPECT_EQ(early("[" + event(1) + "," + event(4).substr(0, 20)), "");
  EXPECT_EQ(merged_.events, 4U);
  // Called otherwise it is told by absolute times alone.
  const std::string epoch = "[" + event(1'700'000'000'000'000) + ",\n";
  const std::string long_one = file("m.json", epoch + event(1'700'000'000'000'009) + "]");
  EXPECT_EQ(import({long_one, file("n.json", epoch)})[1].left_out,
            "a copy of the beginning of " + long_one);
  const std::string relative = file("o.json", text);
  EXPECT_EQ(import({relative, file("p.json", text.substr(0, second))})[1].left_out, "");
  // Another rank's that begins alike.
  EXPECT_EQ(import({file("rank2.json", text.substr(0, second)), whole})[0].left_out, "");
  EXPECT_EQ(merged_.events, 4U);
}

// Nor does one among a rank's cycles hide that they are what Composer merged.
TEST_F(ImportTest, ABeginningBesideWhatComposerMerged) {
  fs::create_directories(folder_.path() / "early");
  const std::string text = composers({{0, {10, 25}}});
  const std::string first = file("ep0-rank0.json", text);
  const std::string early = file("early/ep0-rank0.json", text.substr(0, text.rfind(",{")));
  const std::string second = file("ep1-rank0.json", composers({{0, {110, 125}}}));
  const std::string merged = file("merged_trace.json", composers({{0, {110, 125}}, {0, {10, 25}}}));
  const auto reports = import({first, early, second, merged});
  EXPECT_EQ(reports[1].left_out, "a copy of the beginning of " + first);
  EXPECT_EQ(reports[3].left_out, "it holds what other files of its rank hold, which are given too");
  EXPECT_EQ(merged_.events, 4U);
}

// The same events in another program's spaces: told, since nothing shows that they are all.
TEST_F(ImportTest, EventsThatWereWrittenAnewAreTold) {
  const std::int64_t us = 1'700'000'000'000'000;
  const std::string first = file("a-rank3.json", "[" + event(us) + "," + event(us + 9) + "]");
  const std::string anew = file("b-rank3.json", "[" + event(us) + ", " + event(us + 9) + "]");
  const std::string problem = import({first, anew})[1].problem;
  EXPECT_TRUE(problem.starts_with("events given twice: " + anew + ": ")) << problem;
  EXPECT_FALSE(merged_.complete);
  const std::string later = file("c-rank3.json", "[" + event(us) + ", " + event(us + 10) + "]");
  EXPECT_EQ(import({first, later})[1].problem, "");
}

}  // namespace
}  // namespace traceagent::tools
