#include "agent/trace/merge.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "agent/trace/document.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"
#include "agent/trace/json_text.hpp"
#include "agent/trace/output_file.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

constexpr std::int64_t base = 1700000000000000000;

// What an event says of itself beside its time: where it came from.
std::string origin(const std::string& event) { return event.substr(event.find(",\"dur\"")); }

TEST(Merge, exact_bytes_of_two_ranks) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "r0.json", {.base_ns = base + 1000, .times_ns = {0, 5001}});
  const auto b = write_sample(folder / "r1.json", {.rank = 1, .base_ns = base, .times_ns = {1002}});
  const MergeReport report = merge({b, a}, folder / "node0.json");
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.ranks, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(report.events, 3U);
  EXPECT_TRUE(report.complete);
  const std::string text = read_whole(folder / "node0.json");
  EXPECT_EQ(report.output_bytes, text.size());
  EXPECT_EQ(text, R"({
"schemaVersion": 1,
"distributedInfo": {"rank": 0, "world_size": 4, "ranks": [0, 1], "backend": "nccl"},
"displayTimeUnit": "ns",
"baseTimeNanoseconds": 1700000000000000000,
"traceName": "node0.json",
"deviceProperties": [],
"sources": [
{"name": "r0.json", "rank": 0, "baseTimeNanoseconds": 1700000000000001000},
{"name": "r1.json", "rank": 1, "baseTimeNanoseconds": 1700000000000000000}
],
"traceEvents": [
{"ph":"M","name":"process_name","pid":0,"tid":0,"args":{"name":"rank 0"}},
{"ph":"M","name":"thread_name","pid":0,"tid":7,"args":{"name":"main"}},
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"rank 1"}},
{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"main"}},
{"ts":1.000,"dur":0.001,"ph":"X","cat":"cat","name":"e0","pid":0,"tid":7,"args":{"rank":0}},
{"ts":1.002,"dur":0.001,"ph":"X","cat":"cat","name":"e0","pid":1,"tid":7,"args":{"rank":1}},
{"ts":6.001,"dur":0.001,"ph":"X","cat":"cat","name":"e1","pid":0,"tid":7,"args":{"rank":0}}
],
"traceagent": {"merged": [
{"rank": 0, "events": 2},
{"rank": 1, "events": 1}
], "events": 3, "dropped": {}, "missing_ranks": [], "incomplete": []},
"complete": true
}
)");
}

TEST(Merge, corrected_clocks_move_times_and_nothing_else) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "r0.json", {.base_ns = base, .times_ns = {0, 2000000000}});
  const auto b = write_sample(
      folder / "r1.json", {.rank = 1, .base_ns = base + 5000000000, .times_ns = {7, 1000000007}});
  MergeOptions options;
  // 50 ppm.
  options.corrections[b] = ClockCorrection(
      {{base + 5000000007, -5000001007}, {base + 5000000007 + 1000000000, -5000001007 + 50000}});
  options.metadata_events = {R"({"ph":"M","name":"own","pid":1,"tid":0,"args":{"value":3}})"};
  const MergeReport report = merge({a, b}, folder / "m.json", options);
  ASSERT_EQ(report.problem, "");
  const ReadTrace merged = read_trace(folder / "m.json");
  // The corrected base is before the first event of all.
  EXPECT_EQ(merged.header.base_ns, base - 1007);
  EXPECT_EQ(merged.times_ns,
            (std::vector<std::int64_t>{base - 1000, base, base + 1000049000, base + 2000000000}));
  EXPECT_EQ(merged.metadata_events.back(), options.metadata_events.front());
  EXPECT_NE(merged.events[2].find("\"dur\":0.001,\"ph\":\"X\",\"cat\":\"cat\",\"name\":\"e1\""),
            std::string::npos);
}

// A trace of one rank whose slices touch and lie in each other, to the nanosecond.
std::string write_slices(const std::string& path, const std::vector<std::string>& slices) {
  OutputFile file;
  EXPECT_TRUE(file.open(path, {}));
  DocumentHeader header;
  header.base_ns = base;
  header.trace_name = path;
  write_header(file, header);
  for (std::size_t i = 0; i < slices.size(); ++i) file.append((i == 0 ? "\n" : ",\n") + slices[i]);
  write_footer(file, R"({"rank": 0, "events": )" + std::to_string(slices.size()) + "}", true);
  EXPECT_TRUE(file.finish());
  return path;
}

std::string slice(std::int64_t ts_ns, std::int64_t dur_ns) {
  char text[256];
  char* to = put_literal(text, "{\"ts\":");
  to = put_literal(put_microseconds(to, ts_ns), ",\"dur\":");
  to = put_literal(put_microseconds(to, dur_ns), R"(,"ph":"X","cat":"c","name":"s","pid":0,)");
  to = put_literal(to, R"("tid":7,"args":{"dur":"\"dur\":7"}})");
  return {text, to};
}

std::int64_t duration_of(const std::string& event) {
  const std::size_t at = event.find(",\"dur\":") + 7;
  std::string digits = event.substr(at, event.find(',', at) - at);
  digits.erase(digits.find('.'), 1);
  return std::stoll(digits);
}

TEST(Merge, drifts_keep_slices_nested_and_what_touches_touching) {
  ScratchFolder folder;
  for (const int ppm : {40, -40}) {
    std::mt19937_64 random(5);
    std::vector<std::string> slices;
    std::int64_t at = 0;
    for (int i = 0; i < 300; ++i) {
      const auto first = static_cast<std::int64_t>(1 + random() % 3000000);
      const auto second = static_cast<std::int64_t>(1 + random() % 3000000);
      slices.push_back(slice(at, first + second));  // holds the next two, and ends with them
      slices.push_back(slice(at, first));
      slices.push_back(slice(at + first, second));
      at += first + second;
    }
    const auto path = write_slices(folder / "r0.json", slices);
    MergeOptions options;
    constexpr std::int64_t second = 1000000000;
    options.corrections[path] = ClockCorrection({{base, 77}, {base + second, 77 + ppm * 1000}});
    ASSERT_EQ(merge({path}, folder / "m.json", options).problem, "");
    const ReadTrace merged = read_trace(folder / "m.json");
    ASSERT_EQ(merged.events.size(), slices.size());
    bool is_any_changed = false;
    for (std::size_t i = 0; i < slices.size(); i += 3) {
      const auto end = [&](std::size_t k) {
        return merged.times_ns[k] + duration_of(merged.events[k]);
      };
      ASSERT_EQ(merged.times_ns[i], merged.times_ns[i + 1]);
      ASSERT_EQ(end(i + 1), merged.times_ns[i + 2]);
      ASSERT_EQ(end(i + 2), end(i));
      if (i + 3 < slices.size()) {
        ASSERT_EQ(end(i), merged.times_ns[i + 3]);
      }
      is_any_changed = is_any_changed || duration_of(merged.events[i]) != duration_of(slices[i]);
      EXPECT_NE(merged.events[i].find(R"("args":{"dur":"\"dur\":7"})"), std::string::npos);
    }
    EXPECT_TRUE(is_any_changed);
  }
}

// A duration that never was set (2^64 - 1), one that is none, and what is no slice.
TEST(Merge, drifts_leave_what_is_no_duration) {
  ScratchFolder folder;
  const std::vector<std::string> events{
      R"({"ts":0.000,"dur":18446744073709551.615,"ph":"X","cat":"c","name":"s","pid":0,"tid":7})",
      R"({"ts":1.000,"dur":"never","ph":"X","cat":"c","name":"s","pid":0,"tid":7})",
      R"({"ts":2.000,"dur":-500000.000,"ph":"X","cat":"c","name":"s","pid":0,"tid":7})",
      R"({"ts":3.000,"dur":500000.000,"ph":"i","s":"t","name":"s","pid":0,"tid":7})"};
  const auto path = write_slices(folder / "r0.json", events);
  MergeOptions options;
  options.corrections[path] = ClockCorrection({{base, 0}, {base + 1000000000, 40000}});
  ASSERT_EQ(merge({path}, folder / "m.json", options).problem, "");
  const ReadTrace merged = read_trace(folder / "m.json");
  ASSERT_EQ(merged.events.size(), events.size());
  for (std::size_t i = 0; i < events.size(); ++i) EXPECT_EQ(merged.events[i], events[i]);
}

TEST(ClockCorrection, keeps_the_order_of_neighbouring_times) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 20000; ++i) {
    std::vector<ClockKnot> knots{{base, static_cast<std::int64_t>(random() % 10000000000)}};
    for (std::size_t more = random() % 5; more > 0; --more) {
      // Down to where time stands still: a clock that was set forward.
      const auto length = static_cast<std::int64_t>(1 + random() % 1000);
      const auto change = static_cast<std::int64_t>(random() % 2000) - length;
      knots.push_back({knots.back().at_ns + length, knots.back().offset_ns + change});
    }
    const ClockCorrection correction(knots);
    for (const ClockKnot& knot : knots) {
      ASSERT_EQ(correction.corrected(knot.at_ns), knot.at_ns + knot.offset_ns);
    }
    const auto at = base - 1000 + static_cast<std::int64_t>(random() % 7000);
    const std::int64_t later = at + static_cast<std::int64_t>(random() % 5);
    ASSERT_LE(correction.corrected(at), correction.corrected(later));
  }
}

TEST(Merge, random_ranks_keep_every_event_and_its_time_whatever_the_order_given) {
  ScratchFolder folder;
  std::mt19937_64 random(7);
  std::vector<std::string> paths;
  std::vector<std::pair<std::int64_t, std::string>> expected;
  for (std::int64_t rank = 0; rank < 5; ++rank) {
    SampleTrace sample{.rank = rank,
                       .base_ns = base + static_cast<std::int64_t>(random() % 100000)};
    std::int64_t time = -5000;
    for (std::size_t i = 0; i < 3000 * static_cast<std::size_t>(rank); ++i) {
      sample.times_ns.push_back(time += static_cast<std::int64_t>(random() % 4) * 10000);
    }
    sample.gzip = rank % 2 == 1;
    paths.push_back(write_sample(folder / ("r" + std::to_string(rank) + ".json"), sample));
    const ReadTrace trace = read_trace(paths.back());
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      expected.emplace_back(trace.times_ns[i], origin(trace.events[i]));
    }
  }
  ASSERT_EQ(merge(paths, folder / "m.json").problem, "");
  const ReadTrace merged = read_trace(folder / "m.json");
  EXPECT_EQ(merged.problem, "");
  EXPECT_TRUE(merged.footer.complete);
  EXPECT_TRUE(std::is_sorted(merged.times_ns.begin(), merged.times_ns.end()));
  std::vector<std::pair<std::int64_t, std::string>> got;
  for (std::size_t i = 0; i < merged.events.size(); ++i) {
    got.emplace_back(merged.times_ns[i], origin(merged.events[i]));
  }
  std::sort(expected.begin(), expected.end());
  std::sort(got.begin(), got.end());
  EXPECT_TRUE(got == expected);

  const std::string text = read_whole(folder / "m.json");
  std::shuffle(paths.begin(), paths.end(), random);
  ASSERT_EQ(merge(paths, folder / "m.json").problem, "");
  EXPECT_TRUE(read_whole(folder / "m.json") == text);
  ASSERT_EQ(merge(paths, folder / "m.json.gz", {.gzip = true, .trace_name = "m.json"}).problem, "");
  EXPECT_TRUE(read_gzip(folder / "m.json.gz") == text);
}

TEST(Merge, cycles_of_a_rank_repeat_no_metadata_event) {
  ScratchFolder folder;
  const auto second = write_sample(folder / "ba10.json", {.base_ns = base + 9000, .times_ns = {1}});
  const auto first = write_sample(folder / "ba5.json", {.base_ns = base, .times_ns = {0, 1}});
  const auto renamed = write_sample(
      folder / "ba15.json", {.base_ns = base + 20000, .times_ns = {1}, .thread = "trainer"});
  const MergeReport report = merge({second, renamed, first}, folder / "m.json");
  EXPECT_EQ(report.ranks, (std::vector<std::int64_t>{0}));
  ASSERT_EQ(report.inputs.size(), 3U);
  EXPECT_EQ(report.inputs[0].path, first);
  EXPECT_EQ(report.inputs[2].path, renamed);
  const ReadTrace merged = read_trace(folder / "m.json");
  EXPECT_EQ(merged.metadata_events.size(), 3U);
  EXPECT_EQ(merged.times_ns,
            (std::vector<std::int64_t>{base, base + 1, base + 9001, base + 20001}));
  EXPECT_EQ(merged.footer.metadata.find("\"events\": 2}"),
            merged.footer.metadata.find("\"events\""));
}

TEST(Merge, an_empty_window_still_tells_of_itself) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1}});
  const auto b = write_sample(
      folder / "b.json", {.rank = 1, .metadata = R"({"rank": 1, "dropped": {"ring_full": 3}})"});
  MergeReport report = merge({a, b}, folder / "m.json");
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(report.events, 1U);
  EXPECT_EQ(report.dropped.at("ring_full"), 3U);
  EXPECT_NE(read_trace(folder / "m.json").footer.metadata.find("ring_full"), std::string::npos);

  report = merge({b}, folder / "only.json");
  EXPECT_EQ(report.problem, "");
  const ReadTrace only = read_trace(folder / "only.json");
  EXPECT_EQ(only.problem, "");
  EXPECT_EQ(only.metadata_events.size(), 2U);
}

TEST(Merge, sums_what_was_dropped_and_names_the_missing) {
  ScratchFolder folder;
  const auto metadata = [](int rank, const std::string& dropped) {
    const std::string number = std::to_string(rank);
    return R"({"identity": {"rank": )" + number + R"(, "local_rank": )" + number +
           R"(, "world_size": 3, "local_world_size": 3, "node_rank": 0}, "dropped": )" + dropped +
           "}";
  };
  const auto a =
      write_sample(folder / "a.json",
                   {.times_ns = {1}, .metadata = metadata(0, R"({"ring_full": 5, "late": 1})")});
  const auto b =
      write_sample(folder / "b.json",
                   {.rank = 2, .times_ns = {1}, .metadata = metadata(2, R"({"ring_full": 7})")});
  MergeOptions options;
  options.ranks_wanted = RanksWanted::of_job;
  options.metadata.add("host", "n\"1");
  const MergeReport report = merge({a, b}, folder / "m.json", options);
  EXPECT_EQ(report.dropped, (std::map<std::string, std::uint64_t>{{"late", 1}, {"ring_full", 12}}));
  EXPECT_EQ(report.missing_ranks, (std::vector<std::int64_t>{1}));
  EXPECT_FALSE(report.complete);
  const ReadTrace merged = read_trace(folder / "m.json");
  EXPECT_FALSE(merged.footer.complete);
  EXPECT_TRUE(merged.footer.closed);
  EXPECT_TRUE(merged.footer.metadata.ends_with(
      R"("events": 2, "dropped": {"late": 1, "ring_full": 12}, "missing_ranks": [1], )"
      R"("incomplete": [], "host": "n\"1"})"))
      << merged.footer.metadata;
}

// Each file of a process says how many names it has lost so far.
TEST(Merge, names_lost_are_summed_over_processes_and_not_over_cycles) {
  ScratchFolder folder;
  const auto file = [&](const std::string& name, int pid, const std::string& dropped) {
    return write_sample(folder / name,
                        {.times_ns = {1},
                         .metadata = R"({"identity": {"pid": )" + std::to_string(pid) +
                                     R"(}, "dropped": )" + dropped + "}"});
  };
  const auto a = file("a.json", 7, R"({"names_full": 5, "ring_full": 1})");
  const auto b = file("b.json", 7, R"({"names_full": 8, "ring_full": 2})");
  const auto c = file("c.json", 8, R"({"names_full": 3})");
  const MergeReport report = merge({a, b, c}, folder / "m.json");
  EXPECT_EQ(report.dropped,
            (std::map<std::string, std::uint64_t>{{"names_full", 11}, {"ring_full", 3}}));
  const Losses losses = losses_of(report);
  EXPECT_EQ(losses.events, 3U) << "an event without its name is there";
  EXPECT_EQ(losses.causes, "ring_full 3");
  EXPECT_EQ(losses.others, "names_full 11");
}

TEST(Merge, two_processes_of_one_number_are_not_one_run) {
  ScratchFolder folder;
  const auto file = [&](const std::string& name, std::int64_t rank, int trace_pid, int pid) {
    return write_sample(
        folder / name,
        {.rank = rank,
         .times_ns = {1},
         .metadata = R"({"identity": {"pid": )" + std::to_string(pid) + R"(, "trace_pid": )" +
                     std::to_string(trace_pid) + R"(, "host": "a"}})"});
  };
  const auto a = file("a.json", 0, 0, 7);
  const auto a_later = file("a2.json", 0, 0, 7);
  const auto worker = file("b.json", 0, 1'000'000, 8);
  const auto other_rank = file("c.json", 1, 1, 9);
  const MergeReport one = merge({a, a_later, worker, other_rank}, folder / "one.json");
  EXPECT_TRUE(one.complete);
  EXPECT_TRUE(one.mixed.empty());

  const auto again = file("d.json", 1, 1, 10);
  const MergeReport two = merge({a, worker, other_rank, again}, folder / "two.json");
  EXPECT_FALSE(two.complete);
  ASSERT_EQ(two.mixed.size(), 1U);
  EXPECT_EQ(two.mixed[0].who, "rank 1");
  EXPECT_FALSE(read_trace(folder / "two.json").footer.complete);
  const std::string metadata = read_trace(folder / "two.json").footer.metadata;
  EXPECT_NE(metadata.find(R"("incomplete": [{"file": "rank 1", "problem": "is of several proc)"),
            std::string::npos)
      << metadata;
}

TEST(Merge, a_cut_file_gives_what_it_holds_and_is_named) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1, 3}});
  const auto b = write_sample(folder / "b.json", {.rank = 1, .times_ns = {0, 2, 4, 6}});
  const std::string whole = read_whole(b);
  write_whole(b, whole.substr(0, whole.find("e2") + 1));
  const MergeReport report = merge({a, b}, folder / "m.json");
  EXPECT_EQ(report.problem, "");
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.events, 4U);
  EXPECT_TRUE(report.inputs[0].complete);
  EXPECT_FALSE(report.inputs[1].complete);
  EXPECT_EQ(report.inputs[1].events, 2U);
  EXPECT_NE(report.inputs[1].problem.find("cut off: " + b), std::string::npos);
  const ReadTrace merged = read_trace(folder / "m.json");
  EXPECT_EQ(merged.times_ns, (std::vector<std::int64_t>{base, base + 1, base + 2, base + 3}));
  EXPECT_FALSE(merged.footer.complete);
  EXPECT_NE(merged.footer.metadata.find(R"("incomplete": [{"file": "b.json", "problem": )"),
            std::string::npos);

  // Once more into a larger file: the fault is carried along.
  const auto c = write_sample(folder / "c.json", {.rank = 2, .times_ns = {9}});
  std::filesystem::remove(a);
  const MergeReport again = merge({folder / "m.json", c}, folder / "all.json");
  EXPECT_FALSE(again.complete);
  EXPECT_NE(read_whole(folder / "all.json").find(R"("incomplete": [{"file": "b.json")"),
            std::string::npos);
}

TEST(Merge, what_an_input_lacked_and_is_here_now_is_told_no_more) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1}});
  const auto node = folder / "node.json";
  const std::vector<Unfinished> missing = {{"x \"1\".json", "no trace"}, {"y.json", "cut"}};
  ASSERT_EQ(merge({a}, node, {.unfinished = missing}).complete, false);
  const auto count = [&](const std::string& name) {
    return count_of(read_whole(node), R"("file": ")" + name);
  };
  // What is told of anew stands there once.
  ASSERT_EQ(merge({node}, node, {.unfinished = missing}).problem, "");
  EXPECT_EQ(count("x "), 1U);
  EXPECT_EQ(count("y.json"), 1U);
  MergeOptions options;
  options.is_settled = [](std::string_view who) { return who == "x \"1\".json"; };
  EXPECT_FALSE(merge({node}, node, options).complete);
  EXPECT_EQ(count("x "), 0U);
  EXPECT_EQ(count("y.json"), 1U);
}

TEST(Merge, strict_writes_nothing_where_anything_is_wrong) {
  ScratchFolder folder;
  const auto good = write_sample(folder / "good.json", {.times_ns = {1, 2}});
  const auto unsorted = write_sample(folder / "unsorted.json", {.rank = 1, .times_ns = {5, 4}});
  const auto output = folder / "m.json";
  const MergeOptions strict{.strict = true};
  ASSERT_EQ(merge({good}, output, strict).problem, "");
  const std::string before = read_whole(output);
  for (const std::string& bad : {unsorted, folder / "none.json"}) {
    const MergeReport report = merge({good, bad}, output, strict);
    EXPECT_EQ(report.problem.find("nothing was written: --strict"), 0U) << report.problem;
    EXPECT_TRUE(std::any_of(report.inputs.begin(), report.inputs.end(), [&](const auto& input) {
      return input.path == bad && !input.problem.empty();
    }));
    EXPECT_EQ(read_whole(output), before);
  }
}

TEST(Merge, a_damaged_line_is_counted_and_what_is_behind_it_is_kept) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1, 3}});
  const auto b = write_sample(
      folder / "b.json",
      {.rank = 1, .times_ns = {0, 2, 4, 6}, .metadata = R"({"rank": 1, "dropped": {"full": 5}})"});
  std::string text = read_whole(b);
  write_whole(b, text.replace(text.find("\"e1\""), 4, "\"e\x01\""));
  using Dropped = std::map<std::string, std::uint64_t>;
  const MergeReport report = merge({a, b}, folder / "m.json");
  EXPECT_EQ(report.events, 5U);
  EXPECT_EQ(report.dropped, (Dropped{{"full", 5}, {"not_json", 1}}));
  EXPECT_FALSE(report.complete);
  EXPECT_TRUE(report.inputs[1].problem.starts_with("a damaged line: " + b))
      << report.inputs[1].problem;
  EXPECT_EQ(read_trace(folder / "m.json").times_ns.back(), base + 6);

  // Once more into a larger file: it is counted still, and once.
  const auto c = write_sample(folder / "c.json", {.rank = 2, .times_ns = {9}});
  const MergeReport again = merge({folder / "m.json", c}, folder / "all.json");
  EXPECT_EQ(again.events, 6U);
  EXPECT_EQ(again.dropped, report.dropped);
  EXPECT_FALSE(again.complete);
}

TEST(Merge, foreign_unreadable_and_unsorted_files_are_reported_by_name) {
  ScratchFolder folder;
  const auto good = write_sample(folder / "good.json", {.times_ns = {1, 2}});
  const auto foreign = folder / "foreign.json";
  write_whole(foreign, "[{\"ts\":1}]\n");
  const auto unsorted =
      write_sample(folder / "unsorted.json", {.rank = 1, .times_ns = {5, 9, 8, 10}});
  const MergeReport report =
      merge({good, foreign, folder / "none.json", unsorted}, folder / "m.json");
  EXPECT_EQ(report.problem, "");
  EXPECT_FALSE(report.complete);
  EXPECT_EQ(report.events, 5U);
  EXPECT_EQ(report.dropped, (std::map<std::string, std::uint64_t>{{"not_in_order", 1}}));
  EXPECT_TRUE(std::ranges::is_sorted(read_trace(folder / "m.json").times_ns));
  std::set<std::string> problems;
  for (const MergedInput& input : report.inputs) {
    if (!input.problem.empty()) {
      problems.insert(input.problem.substr(0, input.problem.find(": ", input.problem.find('/'))));
    }
  }
  EXPECT_EQ(problems, (std::set<std::string>{"not a trace of TraceAgent's: " + foreign,
                                             "cannot read a trace: " + (folder / "none.json"),
                                             "events not in the order of time: " + unsorted}));
}

TEST(Merge, problems_of_the_output_leave_no_file) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1}});
  EXPECT_NE(merge({a}, folder / "no/m.json").problem.find("No such file"), std::string::npos);
  EXPECT_NE(merge({}, folder / "m.json").problem.find("nothing to merge"), std::string::npos);
  EXPECT_NE(merge({folder / "x"}, folder / "m.json").problem.find("nothing to merge"),
            std::string::npos);
  write_whole(folder / "m.json", "old");
  EXPECT_NE(merge({a}, folder / "m.json", {.overwrite = false}).problem.find("File exists"),
            std::string::npos);
  EXPECT_EQ(read_whole(folder / "m.json"), "old");
  MergeOptions impatient;
  impatient.progress = [](std::uint64_t, std::uint64_t) { return false; };
  EXPECT_NE(merge({a}, folder / "m.json", impatient).problem.find("given up"), std::string::npos);
  EXPECT_EQ(read_whole(folder / "m.json"), "old");
}

TEST(Merge, events_longer_than_a_reservation_are_kept) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.base_ns = base + 5, .times_ns = {1, 2}});
  const auto b = write_sample(folder / "b.json", {.rank = 1, .times_ns = {1, 2}});
  std::string text = read_whole(a);
  const std::string name(700000, 'x');
  text.insert(text.find("e1"), name);
  write_whole(a, text);
  ASSERT_EQ(merge({a, b}, folder / "m.json").problem, "");
  const ReadTrace merged = read_trace(folder / "m.json");
  ASSERT_EQ(merged.events.size(), 4U);
  EXPECT_TRUE(merged.events[3].starts_with("{\"ts\":0.007,"));
  EXPECT_NE(merged.events[3].find(name), std::string::npos);
}

TEST(Merge, memory_follows_the_files_that_overlap_in_time) {
  ScratchFolder folder;
  std::vector<std::string> together;
  std::vector<std::string> one_after_another;
  for (std::int64_t i = 0; i < 64; ++i) {
    SampleTrace sample{.rank = i, .base_ns = base};
    for (std::int64_t k = 0; k < 4000; ++k) {
      sample.times_ns.push_back(k * 100);
    }
    together.push_back(write_sample(folder / ("t" + std::to_string(i)), sample));
    sample.base_ns += i * 1000000;
    one_after_another.push_back(write_sample(folder / ("o" + std::to_string(i)), sample));
  }
  constexpr std::size_t of_one = LineReader::first_buffer_bytes + EventShapes::most_memory_bytes;
  MergeReport report = merge(together, folder / "m.json");
  EXPECT_EQ(report.events, 64U * 4000U);
  EXPECT_GT(report.input_bytes, 64U << 18);
  EXPECT_LE(report.peak_reader_bytes, 64U * of_one);
  report = merge(one_after_another, folder / "m.json");
  EXPECT_EQ(report.events, 64U * 4000U);
  EXPECT_LE(report.peak_reader_bytes, 2U * of_one);
  EXPECT_TRUE(std::ranges::is_sorted(read_trace(folder / "m.json").times_ns));
}

TEST(Merge, a_merged_file_cut_within_its_metadata_spoils_nothing) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1}});
  const auto b = write_sample(folder / "b.json", {.rank = 1, .times_ns = {2}});
  const auto c = write_sample(folder / "c.json", {.rank = 2, .times_ns = {3}});
  ASSERT_EQ(merge({a, b}, folder / "ab.json").problem, "");
  const std::string whole = read_whole(folder / "ab.json");
  write_whole(folder / "ab.json", whole.substr(0, whole.rfind("{\"rank\": 1")));
  const MergeReport report = merge({folder / "ab.json", c}, folder / "m.json");
  EXPECT_EQ(report.events, 3U);
  EXPECT_FALSE(report.complete);
  const ReadTrace merged = read_trace(folder / "m.json");
  EXPECT_EQ(merged.problem, "");
  EXPECT_TRUE(is_whole_object(merged.footer.metadata));
  EXPECT_TRUE(merged.footer.metadata.starts_with(R"({"merged": [{"rank": 2, "events": 1}],)"))
      << merged.footer.metadata;
}

TEST(Merge, what_thousands_of_cycles_say_of_themselves_is_read_again) {
  ScratchFolder folder;
  const std::string of_a_cycle = R"({"rank": 0, "dropped": {"ring_full": 1}, "options": ")" +
                                 std::string(100'000, 'x') + "\"}";
  std::vector<std::string> files;
  for (int cycle = 0; cycle < 200; ++cycle) {
    const std::string name = "cycle" + std::to_string(cycle) + ".json";
    files.push_back(write_sample(folder / name, {.times_ns = {cycle}, .metadata = of_a_cycle}));
  }
  ASSERT_EQ(merge(files, folder / "m.json").problem, "");
  const auto other = write_sample(folder / "other.json", {.rank = 1, .times_ns = {5}});
  const MergeReport again = merge({folder / "m.json", other}, folder / "all.json");
  EXPECT_TRUE(again.complete) << again.inputs[0].problem;
  EXPECT_EQ(again.dropped.at("ring_full"), 200U);
  EXPECT_EQ(read_trace(folder / "all.json").problem, "");
}

TEST(Merge, many_faults_are_read_again) {
  ScratchFolder folder;
  MergeOptions options;
  for (int i = 0; i < 2000; ++i) {
    options.unfinished.push_back({"rank " + std::to_string(i), std::string(1000, 'w')});
  }
  const auto a = write_sample(folder / "a.json", {.times_ns = {1}});
  ASSERT_EQ(merge({a}, folder / "m.json", options).problem, "");
  const ReadTrace merged = read_trace(folder / "m.json");
  EXPECT_EQ(merged.problem, "");
  EXPECT_TRUE(merged.footer.closed);
  EXPECT_EQ(count_of(merged.footer.metadata, "\"problem\": \"www"), 2000U);
}

TEST(Merge, metadata_that_is_too_large_spoils_nothing) {
  ScratchFolder folder;
  const std::string path = folder / "large.json.gz";
  OutputFile file;
  ASSERT_TRUE(file.open(path, {.gzip = true}));
  write_header(file, {});
  const std::string line = "\n\"" + std::string(1'000'000, 'x') + "\",";
  file.append("\n],\n\"traceagent\": {\"merged\": [");
  for (int i = 0; i < 270; ++i) {
    file.append(line);
  }
  file.append("\n1]}\n}\n");
  ASSERT_TRUE(file.finish());
  const auto other = write_sample(folder / "other.json", {.rank = 1, .times_ns = {5}});
  const MergeReport report = merge({path, other}, folder / "m.json");
  EXPECT_NE(report.inputs[0].problem.find("metadata of more than"), std::string::npos);
  const ReadTrace merged = read_trace(folder / "m.json");
  EXPECT_EQ(merged.problem, "");
  EXPECT_TRUE(is_whole_object(merged.footer.metadata));
}

// Bytes changed, removed and doubled: whatever comes in, what goes out is JSON, and in order.
TEST(Merge, damaged_files_never_spoil_the_output) {
  ScratchFolder folder;
  std::mt19937_64 random(11);
  const auto good = write_sample(folder / "a.json", {.times_ns = {1, 20, 300}});
  const auto bad = write_sample(folder / "b.json", {.rank = 1, .times_ns = {2, 30, 400, 5000}});
  const std::string whole = read_whole(bad);
  for (int round = 0; round < 500; ++round) {
    std::string text = whole;
    for (std::uint64_t change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % text.size();
      switch (random() % 3) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, random() % 40);
          break;
        default:
          text.insert(at, text.substr(random() % text.size(), random() % 200));
      }
    }
    write_whole(bad, text);
    const MergeReport report = merge({good, bad}, folder / "m.json");
    ASSERT_EQ(report.problem, "") << text;
    const ReadTrace merged = read_trace(folder / "m.json");
    ASSERT_EQ(merged.problem, "") << text;
    ASSERT_TRUE(std::ranges::is_sorted(merged.times_ns)) << text;
    ASSERT_EQ(merged.events.size(), report.events);
    ASSERT_GE(report.events, 3U);
    std::string document = read_whole(folder / "m.json");
    document.pop_back();
    ASSERT_TRUE(is_whole_object(document)) << text;
  }
}

}  // namespace
}  // namespace traceagent::trace
