#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <type_traits>

#include "agent/trace/line_reader.hpp"
#include "agent/trace/merge.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/progress_bar.hpp"
#include "tools/selection/arrows.hpp"
#include "tools/selection/event_fields.hpp"
#include "tools/selection/event_rules.hpp"
#include "tools/selection/event_selection.hpp"
#include "tools/selection/open_slices.hpp"
#include "tools/selection/paired_events.hpp"
#include "tools/selection/seen_categories.hpp"
#include "tools/selection/step_marks.hpp"
#include "tools/selection/time_words.hpp"
#include "tools/selection/trace_range.hpp"

namespace traceagent::tools {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t base_ns = 1'700'000'000 * second_ns;  // 2023-11-14T22:13:20Z

TEST(EventFields, are_those_of_the_event_and_not_of_its_arguments) {
  const EventFields own = fields_of(
      R"(,"dur":12.345,"ph":"X","cat":"kernel","name":"a\"b,\\","pid":3,"tid":-7,"args":{"pid":9}})");
  EXPECT_EQ(own.phase, 'X');
  EXPECT_EQ(own.dur_ns, 12345);
  EXPECT_EQ(own.dur_text, "12.345");
  EXPECT_EQ(own.category, "kernel");
  EXPECT_EQ(own.pid, 3);
  EXPECT_EQ(own.tid, -7);
  const EventFields other = fields_of(
      R"(, "args": {"ph": "M", "x": [{"dur": 1}, "}"]}, "id2": {"local": "0x1"}, "name": "\"", )"
      R"("cat": "", "ph": "b", "tid": 4, "pid": 5 })");
  EXPECT_EQ(other.phase, 'b');
  EXPECT_FALSE(other.has_dur);
  EXPECT_EQ(other.id, R"({"local": "0x1"})");
  EXPECT_EQ(other.name, R"(\")");
  EXPECT_EQ(other.pid, 5);
  EXPECT_EQ(other.tid, 4);
  EXPECT_EQ(fields_of("}").phase, '\0');
  EXPECT_EQ(fields_of("").pid, 0);
}

TEST(EventFields, durations_are_exact_where_they_have_three_decimals_or_none) {
  EXPECT_EQ(nanoseconds_of("9007199254740993.001"), 9007199254740993001);
  EXPECT_EQ(nanoseconds_of("7"), 7000);
  EXPECT_EQ(nanoseconds_of("0.5"), 500);
  EXPECT_EQ(nanoseconds_of("1.2345678"), 1235);
  EXPECT_EQ(nanoseconds_of("1e3"), 1'000'000);
  EXPECT_EQ(nanoseconds_of("-0.500"), -500);
  EXPECT_GT(nanoseconds_of("1e300"), INT64_MAX - 10'000);
  EXPECT_GT(nanoseconds_of("18446744073709551615"), INT64_MAX - 10'000);
  EXPECT_LT(nanoseconds_of("-1e300"), INT64_MIN + 10'000);
}

class InZone {
 public:
  explicit InZone(const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  }
  ~InZone() {
    unsetenv("TZ");
    tzset();
  }
};

std::int64_t moment(const char* word) {
  const auto time = parse_time(word);
  return time ? resolve(*time, base_ns, base_ns + 60 * second_ns) - base_ns : -1;
}

TEST(TimeWords, name_a_moment_in_many_ways) {
  const InZone zone("Europe/Berlin");
  EXPECT_EQ(moment("+1.5s"), 1'500'000'000);
  EXPECT_EQ(moment("-500ms"), 59'500'000'000);
  EXPECT_EQ(moment("begin"), 0);
  EXPECT_EQ(moment("end"), 60 * second_ns);
  EXPECT_EQ(moment("1700000000000001.25"), 1250);
  EXPECT_EQ(moment("23:13:20.000000007"), 7);
  EXPECT_EQ(moment("23:14"), 40 * second_ns);
  EXPECT_EQ(moment("0:13:20"), 3600 * second_ns);  // the nearest is that of the next day
  EXPECT_EQ(moment("2023-11-14T23:13:21"), second_ns);
  EXPECT_EQ(moment("2023-11-14 22:13:21Z"), second_ns);
  EXPECT_EQ(moment("2023-11-14T17:43:21.5-0430"), 1'500'000'000);
  for (const char* word :
       {"", "2s", "+2", "soon", "24:00", "1:2", "12:00:00.", "2023-11-14T", "2023-11-14T22:13Q",
        "1e9", "2023-02-29", "2023-04-31T01:00", "99999999999999999", "2023-11-14T22:13+99:99",
        "2023-11-14T22:13+24:00", "2023-11-14T22:13-0460"}) {
    EXPECT_FALSE(parse_time(word)) << word;
  }
  EXPECT_EQ(time_in_words(base_ns + 42), "2023-11-14 23:13:20.000000042");
}

// A trace of a night, as most are that are longer than some hours.
TEST(TimeWords, a_time_of_day_is_one_within_the_trace) {
  const InZone zone("Europe/Berlin");
  const auto ns = [](const char* word) { return parse_time(word)->ns; };
  const std::int64_t begin = ns("2026-11-20T23:00"), end = ns("2026-11-21T12:50");
  const auto window = [&](const char* from, const char* to) {
    const std::int64_t from_ns = resolve(*parse_time(from), begin, end);
    return time_in_words(from_ns).substr(8, 8) + " " +
           time_in_words(resolve(*parse_time(to), begin, end, from_ns)).substr(8, 8);
  };
  EXPECT_EQ(window("10:30", "11:00"), "21 10:30 21 11:00");
  EXPECT_EQ(window("12:00", "12:30"), "21 12:00 21 12:30");
  EXPECT_EQ(window("23:50", "0:10"), "20 23:50 21 00:10");
  EXPECT_EQ(window("22:00", "12:30"), "20 22:00 21 12:30");  // begins before the trace
  EXPECT_EQ(window("12:40", "13:10"), "21 12:40 21 13:10");  // ends behind it
  EXPECT_EQ(window("begin", "1:00"), "20 23:00 21 01:00");
  EXPECT_EQ(window("11:00", "10:00"), "21 11:00 21 10:00");  // nothing, which is told
}

TEST(TimeWords, a_time_of_day_is_the_clocks_where_they_were_changed) {
  const InZone zone("Europe/Berlin");
  const std::int64_t begin = parse_time("2026-03-29T00:30")->ns;  // an hour less until 4:00
  EXPECT_EQ(resolve(*parse_time("4:00"), begin, begin + 86'400 * second_ns) - begin,
            std::int64_t{9000} * second_ns);
}

TEST(StepMarks, are_names_or_arguments_and_not_text_that_looks_so) {
  const auto step = [](const std::string& members) -> std::string {
    const std::string line = R"({"ts":1.000,)" + members + "}";
    const auto found = marked_step(line, std::string_view(line).substr(11));
    if (!found) return "none";
    return std::to_string(static_cast<int>(found->mark)) + ":" + std::to_string(found->number);
  };
  const std::string event = R"("ph":"X","name":"e","pid":1,"tid":1,"args":)";
  EXPECT_EQ(step(R"("dur":1,"ph":"X","cat":"a","name":"ProfilerStep#17","pid":1,"tid":1)"), "0:17");
  EXPECT_EQ(step(R"("ph":"X","name":"ProfilerStep#x","pid":1,"args":{"step_num": "4"})"), "1:4");
  EXPECT_EQ(step(event + R"({"step_num": "0"})"), "1:0");
  EXPECT_EQ(step(event + R"({"a":{"step_num":3},"step_num":12})"), "1:12");
  EXPECT_EQ(step(event + R"({"epoch": 1, "batch": 5})"), "2:5");
  EXPECT_EQ(step(event + R"({"batch": 5})"), "none");
  EXPECT_EQ(step(event + R"({"step_num": "later", "text": "ProfilerStep#1"})"), "none");
  EXPECT_EQ(step(event + R"({"a":{"step_num":3}})"), "none");
  EXPECT_EQ(step(R"("ph":"E","pid":1,"args":{"step_num": 4})"), "none");
  EXPECT_EQ(step(R"("ph":"X","name":"e","pid":1,"step_num":3)"), "none");
  EXPECT_EQ(step(R"("ph":"C","name":"\"step_num\"","pid":1)"), "none");
}

// A file may have as many steps as events: what is kept of them does not grow.
static_assert(std::is_trivially_copyable_v<StepEdges>);

TEST(StepEdges, are_those_that_an_ordered_list_of_all_steps_gives) {
  std::mt19937 random(1);
  std::uniform_int_distribution<std::int64_t> any(-20, 20);
  for (int round = 0; round < 2000; ++round) {
    const WantedSteps wanted{any(random), any(random)};
    std::map<std::int64_t, std::int64_t> all;
    StepEdges edges;
    EXPECT_FALSE(edges.are_any());
    for (std::int64_t i = any(random); i < 5; ++i) {
      const StepEdges::Step step{any(random), any(random)};
      const auto known = all.try_emplace(step.number, step.begin_ns).first;
      known->second = std::min(known->second, step.begin_ns);
      edges.add(step, wanted);
    }
    const auto check = [&](const std::optional<StepEdges::Step>& edge, std::int64_t at_least) {
      const auto expected = all.lower_bound(at_least);
      ASSERT_EQ(edge.has_value(), expected != all.end());
      if (!edge) return;
      EXPECT_EQ(std::pair(edge->number, edge->begin_ns),
                std::pair(expected->first, expected->second));
    };
    check(edges.from, wanted.first);
    check(edges.behind, wanted.last);
    const auto from = all.lower_bound(wanted.first);
    ASSERT_EQ(edges.before.has_value(), from != all.begin());
    if (edges.before) {
      EXPECT_EQ(*edges.before, std::prev(from)->first);
    }
    EXPECT_EQ(edges.are_any(), !all.empty());
  }
}

// Python escapes all that is not ASCII.
TEST(EventRules, a_category_is_one_however_it_is_written) {
  EventRules rules;
  rules.categories = {category_in_json("é/\"😀"), "b"};
  SeenCategories seen;
  for (const char* category :
       {R"(\u00e9/\"\ud83d\ude00)", R"(é\/\u0022😀)", "a , b", "b ,c", " b"}) {
    EXPECT_TRUE(rules.has_category(category)) << category;
    seen.add(category);
  }
  EXPECT_FALSE(rules.has_category(R"(\u00e8)") || rules.has_category("a b"));
  EXPECT_TRUE(seen.missing_in_words(rules.categories).empty());
  EXPECT_EQ(seen.missing_in_words({"d"}).size(), 1U);
}

TEST(EventRules, ranks_and_categories_are_lists) {
  EventRules rules;
  EXPECT_TRUE(rules.has_rank(5) && rules.has_category(""));
  rules.ranks = parse_ranks("0,3-7");
  EXPECT_TRUE(rules.has_rank(0) && rules.has_rank(3) && rules.has_rank(7));
  EXPECT_FALSE(rules.has_rank(1) || rules.has_rank(8));
  rules.categories = {"kernel"};
  EXPECT_TRUE(rules.has_category("gpu,kernel"));
  EXPECT_FALSE(rules.has_category("gpu_kernel") || rules.has_category(""));
  EXPECT_EQ(parse_ranks(" 0, 3-7 "), parse_ranks("0,3-7"));
  for (const char* list : {"", " ", "1, ", "x", "3-", "-3", "5-3", "1,,2", "1;2"}) {
    EXPECT_TRUE(parse_ranks(list).empty()) << list;
  }
}

TEST(Arrows, forget_the_oldest_and_keep_none_that_lacks_an_end) {
  Verdicts verdicts;
  for (int i = 0; i < 6; ++i) {
    verdicts.add(Verdict::unpaired);
  }
  Arrows arrows(verdicts, 2);
  arrows.start(1, 0, Verdict::keep);
  arrows.start(2, 1, Verdict::keep);
  arrows.start(3, 2, Verdict::keep);
  arrows.end(1, 3, Verdict::keep);  // one too many were open
  arrows.end(2, 4, Verdict::time);
  arrows.end(3, 5, Verdict::keep);
  const std::vector<Verdict> expected{Verdict::unpaired, Verdict::unpaired, Verdict::keep,
                                      Verdict::unpaired, Verdict::time,     Verdict::keep};
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(verdicts.at(i), expected[i]) << i;
  }
  EXPECT_EQ(verdicts.at(6), Verdict::unpaired);
}

TEST(OpenSlices, the_last_to_begin_holds_a_point) {
  OpenSlices slices;
  const OpenSlices::Lane lane(1, 2);
  const auto none = [](const OpenSlices::Slice&) { FAIL() << "one was given up"; };
  EXPECT_EQ(slices.around(lane, 0), nullptr);
  slices.open(lane, {0, 100, Verdict::keep}, none);
  slices.open(lane, {10, 50, Verdict::time}, none);
  slices.open(lane, {20, 80, Verdict::category}, none);  // runs out of the one before
  EXPECT_EQ(slices.around(lane, 60)->begin_ns, 20);
  EXPECT_EQ(slices.around(lane, 80)->begin_ns, 20);
  EXPECT_EQ(slices.around(lane, 81)->begin_ns, 0);
  EXPECT_EQ(slices.around({1, 3}, 81), nullptr);
  OpenSlices::Slice closed;
  EXPECT_FALSE(slices.close(lane, closed));
  EXPECT_EQ(slices.around(lane, 101), nullptr);
}

TEST(OpenSlices, gives_up_the_outermost_of_too_many) {
  OpenSlices slices;
  const OpenSlices::Lane lane(1, 2);
  std::vector<std::size_t> given_up;
  constexpr std::size_t count = OpenSlices::most_of_lane + 100;
  for (std::size_t i = 0; i < count; ++i) {
    slices.open(lane, {static_cast<std::int64_t>(i), INT64_MAX, Verdict::keep, i},
                [&](const OpenSlices::Slice& slice) { given_up.push_back(slice.index); });
  }
  ASSERT_EQ(given_up.size(), OpenSlices::most_of_lane / 2);
  EXPECT_EQ(given_up.front(), 0U);
  EXPECT_EQ(given_up.back(), given_up.size() - 1);
  OpenSlices::Slice closed;
  for (std::size_t i = count; i-- > given_up.size();) {
    ASSERT_TRUE(slices.close(lane, closed));
    EXPECT_EQ(closed.index, i);
  }
  EXPECT_FALSE(slices.close(lane, closed));
}

// A thread for each event would take as much memory as the trace.
TEST(OpenSlices, gives_up_all_of_too_many_threads) {
  OpenSlices slices;
  std::size_t given_up = 0;
  const auto count = [&given_up](const OpenSlices::Slice&) { ++given_up; };
  slices.open({1, -1}, {0, INT64_MAX, Verdict::keep, 0}, count);
  for (std::int64_t tid = 0; tid < 1'000'000; ++tid) {
    slices.open({1, tid}, {tid, tid + 1, Verdict::keep}, count);
  }
  EXPECT_EQ(given_up, 0U);
  OpenSlices::Slice closed;
  EXPECT_TRUE(slices.close({1, -1}, closed)) << "it has not ended";
  constexpr std::size_t open = OpenSlices::most_lanes + 1;
  for (std::size_t i = 0; i < open; ++i) {
    slices.open({2, static_cast<std::int64_t>(i)}, {2'000'000, INT64_MAX, Verdict::keep, i}, count);
  }
  std::size_t left = 0;
  slices.for_each_unclosed([&left](const OpenSlices::Slice&) { ++left; });
  EXPECT_GT(given_up, 0U);
  EXPECT_EQ(left + given_up, open);
}

TEST(PairedEvents, carry_no_more_counters_than_there_is_room_for) {
  EventRules rules;
  rules.window = {10, 20};
  rules.clip = true;
  PairedEvents pairs(rules);
  constexpr std::size_t count = PairedEvents::most_counters + 10;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string name = std::to_string(i);
    EventFields fields;
    fields.phase = 'C';
    fields.name = name;
    pairs.read(fields, 1);
  }
  const Verdicts verdicts = pairs.finish();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < count; ++i) kept += verdicts.at(i) == Verdict::keep ? 1 : 0;
  EXPECT_EQ(kept, PairedEvents::most_counters);
}

// Of those without an end a million would take as much memory as the trace.
TEST(PairedEvents, give_up_the_oldest_of_too_many_beginnings) {
  const EventRules rules;
  PairedEvents pairs(rules);
  const auto read = [&pairs](char phase, std::size_t id, std::int64_t ns) {
    const std::string text = std::to_string(id);
    EventFields fields;
    fields.phase = phase;
    fields.category = "c";
    fields.id = text;
    pairs.read(fields, ns);
  };
  constexpr std::size_t count = PairedEvents::most_open_async + 10;
  for (std::size_t i = 0; i < count; ++i) read('b', i, static_cast<std::int64_t>(i));
  for (const std::size_t id : {std::size_t{9}, std::size_t{10}, count - 1}) {
    read('e', id, static_cast<std::int64_t>(count));
  }
  const Verdicts verdicts = pairs.finish();
  for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(verdicts.at(i), Verdict::keep) << i;
  EXPECT_EQ(verdicts.at(count), Verdict::unpaired) << "its beginning was given up";
  EXPECT_EQ(verdicts.at(count + 1), Verdict::keep);
  EXPECT_EQ(verdicts.at(count + 2), Verdict::keep);
}

TEST(PairedEvents, do_not_give_up_a_long_one_for_many_that_have_ended) {
  const EventRules rules;
  PairedEvents pairs(rules);
  const auto read = [&pairs](char phase, const char* id, std::int64_t ns) {
    EventFields fields;
    fields.phase = phase;
    fields.category = "c";
    fields.id = id;
    pairs.read(fields, ns);
  };
  constexpr std::size_t count = 5 * PairedEvents::most_open_async;
  read('b', "long", 0);
  for (std::size_t i = 0; i < count; ++i) {
    const char* const id = i % 3 == 0 ? "long" : "short";  // or within it, by the same id
    read('b', id, 1);
    read('e', id, 2);
  }
  read('e', "long", 3);
  const Verdicts verdicts = pairs.finish();
  for (std::size_t i = 0; i < 2 * count + 2; ++i) ASSERT_EQ(verdicts.at(i), Verdict::keep) << i;
}

TEST(EventSelection, memory_of_a_merge_of_64_inputs_is_that_of_their_buffers) {
  trace::ScratchFolder folder;
  std::vector<std::string> files;
  for (std::int64_t i = 0; i < 64; ++i) {
    trace::SampleTrace sample{.rank = i, .base_ns = base_ns};
    for (std::int64_t k = 0; k < 4000; ++k) {
      sample.times_ns.push_back(k * 100);
    }
    files.push_back(trace::write_sample(folder / ("r" + std::to_string(i)), sample));
  }
  EventRules rules;
  rules.window = {base_ns + 100'000, base_ns + 199'950};
  rules.clip = true;
  EventSelection selection(rules, {});
  trace::MergeOptions options;
  options.selection = &selection;
  const trace::MergeReport report = trace::merge(files, folder / "m.json", options);
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.events, 64U * 1000U);
  EXPECT_EQ(selection.counts().left_out(), 64U * 3000U);
  EXPECT_GT(report.input_bytes, 64U << 18);
  EXPECT_LE(report.peak_reader_bytes, 64U * (trace::LineReader::first_buffer_bytes +
                                             trace::EventShapes::most_memory_bytes + 1024));
}

TEST(ProgressBar, says_share_rate_and_what_is_left) {
  EXPECT_EQ(progress_text(500'000'000, 2'000'000'000, 1.0), " 25 %  500 MB/s  3 s left");
  EXPECT_EQ(progress_text(0, 0, 0.0), "  0 %  0 MB/s  0 s left");
  EXPECT_EQ(progress_text(3, 2, 1.0), "100 %  0 MB/s  0 s left");
}

}  // namespace
}  // namespace traceagent::tools
