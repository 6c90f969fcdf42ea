#include "agent/trace/trace_reader.hpp"

#include <gtest/gtest.h>

#include "agent/trace/judged_folder.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

const std::vector<std::int64_t> some_times = {-1234567, -1, 0, 1, 999, 1000, 123456789012345};

std::vector<std::int64_t> many_times(std::int64_t count) {
  std::vector<std::int64_t> times;
  for (std::int64_t i = 0; i < count; ++i) {
    times.push_back(i * 37);
  }
  return times;
}

TEST(TraceReader, gives_back_what_was_written) {
  ScratchFolder folder;
  const std::int64_t base = 1700000000000000123;
  for (const bool gzip : {false, true}) {
    const auto path = write_sample(
        folder / "a.json", {.rank = 3, .base_ns = base, .times_ns = some_times, .gzip = gzip});
    const ReadTrace trace = read_trace(path);
    EXPECT_EQ(trace.problem, "");
    EXPECT_EQ(trace.header.rank, 3);
    EXPECT_EQ(trace.header.world_size, 4);
    EXPECT_EQ(trace.header.base_ns, base);
    EXPECT_EQ(trace.header.trace_name, "a.json");
    EXPECT_EQ(trace.header.distributed_info, R"({"rank": 3, "world_size": 4, "backend": "nccl"})");
    EXPECT_EQ(trace.header.device_properties, "[]");
    EXPECT_EQ(trace.metadata_events.size(), 2U);
    ASSERT_EQ(trace.times_ns.size(), some_times.size());
    for (std::size_t i = 0; i < some_times.size(); ++i) {
      EXPECT_EQ(trace.times_ns[i], base + some_times[i]);
    }
    EXPECT_EQ(trace.events[3],
              R"({"ts":0.001,"dur":0.001,"ph":"X","cat":"cat","name":"e3","pid":3,"tid":7,)"
              R"("args":{"rank":3}})");
    EXPECT_EQ(trace.footer.metadata, R"({"rank": 3, "events": 7})");
    EXPECT_TRUE(trace.footer.closed);
    EXPECT_TRUE(trace.footer.complete);
  }
}

TEST(TraceReader, tells_closed_from_complete) {
  ScratchFolder folder;
  const auto path = write_sample(folder / "a.json", {.times_ns = {1}, .complete = false});
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.problem, "");
  EXPECT_TRUE(trace.footer.closed);
  EXPECT_FALSE(trace.footer.complete);
  EXPECT_EQ(trace.footer.metadata, R"({"rank": 0, "events": 1})");
}

TEST(TraceReader, an_empty_window_has_a_footer) {
  ScratchFolder folder;
  const ReadTrace trace = read_trace(write_sample(folder / "a.json", {}));
  EXPECT_EQ(trace.problem, "");
  EXPECT_TRUE(trace.footer.complete);
  EXPECT_TRUE(trace.events.empty());
}

TEST(TraceReader, a_cut_anywhere_gives_all_whole_lines_and_is_named) {
  ScratchFolder folder;
  const std::string whole = read_whole(write_sample(folder / "a.json", {.times_ns = some_times}));
  const ReadTrace expected = read_trace(folder / "a.json");
  const std::string path = folder / "cut.json";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write_whole(path, whole.substr(0, size));
    const ReadTrace trace = read_trace(path);
    EXPECT_NE(trace.problem.find(path), std::string::npos) << size;
    EXPECT_FALSE(trace.footer.complete) << size;
    // A line counts once its newline is there.
    const std::string ended_lines =
        size == 0 ? "" : whole.substr(0, whole.rfind('\n', size - 1) + 1);
    ASSERT_EQ(trace.events.size(), count_of(ended_lines, "{\"ts\":")) << size;
    for (std::size_t i = 0; i < trace.events.size(); ++i) {
      EXPECT_EQ(trace.events[i], expected.events[i]);
    }
  }
}

TEST(TraceReader, a_cut_or_damaged_gzip_file_gives_what_can_be_read) {
  ScratchFolder folder;
  const auto path =
      write_sample(folder / "a.json.gz", {.times_ns = many_times(40000), .gzip = true});
  const std::string whole = read_whole(path);
  write_whole(path, whole.substr(0, whole.size() - 20));
  ReadTrace trace = read_trace(path);
  EXPECT_NE(trace.problem.find("cut off: " + path), std::string::npos) << trace.problem;
  EXPECT_GT(trace.events.size(), 20000U);
  EXPECT_EQ(trace.times_ns[20000], trace.header.base_ns + 20000 * 37);

  std::string damaged = whole;
  for (std::size_t i = 0; i < 64; ++i) {
    damaged[whole.size() / 2 + i] = static_cast<char>(i * 89);
  }
  write_whole(path, damaged);
  trace = read_trace(path);
  EXPECT_NE(trace.problem, "");
  EXPECT_LT(trace.events.size(), 40000U);

  write_whole(path, whole + "not gzip");
  trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 40000U);
}

// Where the members of a gzip file begin that OutputFile wrote.
std::vector<std::size_t> members_of(const std::string& bytes) {
  std::vector<std::size_t> members;
  const std::string begin("\x1f\x8b\x08\0\0\0\0\0", 8);
  for (std::size_t at = bytes.find(begin); at != std::string::npos;
       at = bytes.find(begin, at + 1)) {
    members.push_back(at);
  }
  return members;
}

TEST(TraceReader, a_damaged_member_costs_no_other_one_and_what_it_costs_is_counted) {
  ScratchFolder folder;
  const auto path =
      write_sample(folder / "a.json.gz", {.times_ns = many_times(40000), .gzip = true});
  const std::string whole = read_whole(path);
  const std::vector<std::size_t> members = members_of(whole);
  ASSERT_GE(members.size(), 4U);
  const std::size_t size = members[2] - members[1];
  for (const std::size_t at : {size / 100, size / 3, size / 2, size - 5}) {
    std::string damaged = whole;
    damaged[members[1] + at] ^= 0x10;
    write_whole(path, damaged);
    const ReadTrace trace = read_trace(path);
    const std::uint64_t events = trace.events.size();
    EXPECT_GT(events, 20000U) << at;
    EXPECT_NE(trace.events.back().find("\"e39999\""), std::string::npos) << at;
    EXPECT_EQ(trace.lost,
              events == 40000
                  ? (std::map<std::string, std::uint64_t>{})
                  : (std::map<std::string, std::uint64_t>{{"damaged_gzip", 40000 - events}}))
        << at;
    EXPECT_TRUE(trace.problem.starts_with("damaged gzip data: " + path + ": at byte " +
                                          std::to_string(members[1]) + " to " +
                                          std::to_string(members[2]) + " of the compressed file: "))
        << trace.problem;
    EXPECT_TRUE(trace.footer.closed) << at;
    EXPECT_FALSE(trace.footer.complete) << at;
  }
}

TEST(TraceReader, how_many_events_were_lost_is_not_told_where_that_is_lost_too) {
  ScratchFolder folder;
  const auto path =
      write_sample(folder / "a.json.gz", {.times_ns = many_times(40000), .gzip = true});
  std::string damaged = read_whole(path);
  damaged[members_of(damaged)[1] + 10000] ^= 0x10;
  damaged[damaged.size() - 6] ^= 0x10;
  write_whole(path, damaged);
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.lost, (std::map<std::string, std::uint64_t>{{"damaged_gzip_places", 2}}));
  EXPECT_TRUE(trace.problem.starts_with("gzip data damaged in 2 places: ")) << trace.problem;
  EXPECT_FALSE(trace.footer.complete);
}

TEST(TraceReader, bytes_behind_a_whole_gzip_file_lose_no_event) {
  ScratchFolder folder;
  const auto path = write_sample(folder / "a.json.gz", {.times_ns = {1, 2}, .gzip = true});
  const std::string whole = read_whole(path);
  write_whole(path, whole + std::string(100, 'x'));
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 2U);
  EXPECT_TRUE(trace.lost.empty());
  EXPECT_TRUE(trace.problem.starts_with("text behind the end of a trace: ")) << trace.problem;
  EXPECT_FALSE(trace.footer.complete);
  write_whole(path, whole + std::string(100, '\0'));
  const ReadTrace padded = read_trace(path);
  EXPECT_EQ(padded.events.size(), 2U);
  EXPECT_EQ(padded.problem, "");
  EXPECT_TRUE(padded.footer.complete);
}

// As a file system leaves it that crashed.
TEST(TraceReader, a_hole_of_zeros_makes_no_event_of_two_and_all_that_it_held_are_counted) {
  ScratchFolder folder;
  const auto path = write_sample(folder / "a.json", {.times_ns = many_times(200)});
  const std::string whole = read_whole(path);
  const std::size_t first = whole.find("\"e50\"") + 2;
  const std::size_t last = whole.find("\"e90\"") + 2;
  write_whole(path, whole.substr(0, first) + std::string(last - first, '\0') + whole.substr(last));
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 159U);
  EXPECT_EQ(trace.lost, (std::map<std::string, std::uint64_t>{{"not_json", 41}}));
  EXPECT_TRUE(trace.problem.starts_with("a damaged line: ")) << trace.problem;
}

TEST(TraceReader, foreign_files_are_named_with_a_remedy) {
  ScratchFolder folder;
  const std::string path = folder / "a.json";
  for (const std::string text :
       {"[{\"ph\":\"X\"}]\n", "{\"traceEvents\": []}\n", "{\n\"traceEvents\": [\n", "{\n}\n",
        "{\n\"schemaVersion\": 1,\n\"traceEvents\": [\n],\n\"x\": {}\n}\n", "\n\n", "{\nhello\n",
        "{\n\"baseTimeNanoseconds\": x,\n\"traceEvents\": [\n"}) {
    write_whole(path, text);
    TraceReader reader;
    EXPECT_FALSE(reader.open(path)) << text;
    EXPECT_NE(reader.problem().find("not a trace of TraceAgent's: " + path), std::string::npos)
        << reader.problem();
  }
  TraceReader reader;
  EXPECT_FALSE(reader.open(folder / "none"));
  EXPECT_NE(reader.problem().find("No such file"), std::string::npos);
  EXPECT_FALSE(reader.open(folder.path().string()));
}

TEST(TraceReader, an_event_with_an_odd_time_is_left_out_and_counted) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {5000, 6000}});
  const std::string whole = read_whole(path);
  const std::size_t at = whole.find("5.000");
  for (const std::string ts : {"5", "5.0", "5.0000", ".000", "\"5.000\"", "1e3",
                               "99999999999999999.000", "-", "5.00x", "9999999999999999.999"}) {
    std::string text = whole;
    write_whole(path, text.replace(at, 5, ts));
    const ReadTrace trace = read_trace(path);
    EXPECT_EQ(trace.events.size(), 1U) << ts;
    EXPECT_EQ(trace.lost, (std::map<std::string, std::uint64_t>{{"bad_ts", 1}})) << ts;
    EXPECT_NE(trace.problem.find("at byte "), std::string::npos) << ts;
  }
}

TEST(TraceReader, an_event_that_is_not_json_is_left_out_and_counted) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {1000, 2000, 3000}});
  const std::string whole = read_whole(path);
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"name\":\"e1\"", "\"name\":\"e1"},
                                                        {"\"name\":\"e1\"", "\"name\":e1"},
                                                        {"\"name\":\"e1\"", "\"name\":\"\xff\""},
                                                        {"\"name\":\"e1\"", "\"name\":\"e1\"}"},
                                                        {"{\"ts\":2.000", "{\"ts\":002.000"}}) {
    std::string text = whole;
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    write_whole(path, text.replace(at, from.size(), to));
    const ReadTrace trace = read_trace(path);
    EXPECT_EQ(trace.events.size(), 2U) << to;
    EXPECT_EQ(trace.times_ns.back(), trace.header.base_ns + 3000);
    EXPECT_FALSE(trace.footer.complete);
    EXPECT_EQ(trace.lost.size(), 1U);
    const std::size_t line = text.rfind('\n', at) + 1;
    EXPECT_EQ(trace.problem, "a damaged line: " + path + ": at byte " + std::to_string(line) +
                                 ": left out, and counted; copy the file again");
  }
}

TEST(TraceReader, what_this_process_has_judged_is_not_judged_again) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {1000, 2000, 3000}});
  std::string text = read_whole(path);
  write_whole(path, text.replace(text.find("\"e1\""), 4, "e1"));
  {
    const JudgedFolder judged(folder.path().string());
    const JudgedFolder other("elsewhere");
    EXPECT_EQ(read_trace(path).events.size(), 3U);
    EXPECT_FALSE(JudgedFolder::holds(folder / "within/a.json"));
    EXPECT_FALSE(JudgedFolder::holds("a.json"));
  }
  EXPECT_EQ(read_trace(path).events.size(), 2U);
}

TEST(TraceReader, damaged_lines_are_told_by_the_first_and_a_cut_behind_them_too) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {1000, 2000, 3000, 4000}});
  std::string text = read_whole(path);
  text[text.find("\"e0\"")] = '\0';
  text[text.find("\n{\"ts\":4.000")] = '?';  // of two events one line
  write_whole(path, text);
  ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.lost, (std::map<std::string, std::uint64_t>{{"not_json", 3}}));
  EXPECT_TRUE(trace.footer.closed);
  EXPECT_TRUE(trace.problem.starts_with("2 damaged lines: " + path + ": the first at byte " +
                                        std::to_string(text.find("{\"ts\":1.000"))))
      << trace.problem;
  write_whole(path, text.substr(0, text.find("\n],")));
  trace = read_trace(path);
  EXPECT_TRUE(trace.problem.starts_with("a trace that is cut off: ")) << trace.problem;
  EXPECT_TRUE(trace.problem.ends_with("; damaged lines before it, left out: 1")) << trace.problem;
}

TEST(TraceReader, a_damaged_end_of_the_events_is_one_damaged_line) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {1000, 2000}});
  const std::string whole = read_whole(path);
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"\n],\n", "\n]?\n"}, {"\n],\n", "?],\n"}, {"\n],\n", "\n],?"}}) {
    std::string text = whole;
    write_whole(path, text.replace(text.find(from), from.size(), to));
    const ReadTrace trace = read_trace(path);
    EXPECT_EQ(trace.lost, (std::map<std::string, std::uint64_t>{{"not_json", 1}})) << to;
    EXPECT_TRUE(trace.footer.closed) << to;
    EXPECT_FALSE(trace.footer.complete) << to;
  }
}

TEST(TraceReader, a_line_that_is_there_twice_is_told_of) {
  ScratchFolder folder;
  const std::string path =
      write_sample(folder / "a.json", {.times_ns = {1000, 2000}, .metadata = R"({"events": 2})"});
  std::string text = read_whole(path);
  const std::size_t first = text.find("{\"ts\":1.000");
  write_whole(path, text.insert(first, text.substr(first, text.find('\n', first) + 1 - first)));
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 3U);
  EXPECT_TRUE(trace.lost.empty());
  EXPECT_FALSE(trace.footer.complete);
  EXPECT_TRUE(trace.problem.starts_with("more events than were written: " + path +
                                        ": it says that 2 were written, and has 3: "))
      << trace.problem;
}

// As an editor leaves them that somebody looked at the file with.
TEST(TraceReader, lines_that_are_gone_are_counted) {
  ScratchFolder folder;
  const std::string path = write_sample(
      folder / "a.json", {.times_ns = {1000, 2000, 3000}, .metadata = R"({"events": 3})"});
  EXPECT_EQ(read_trace(path).problem, "");
  std::string text = read_whole(path);
  const std::size_t second = text.find("{\"ts\":2.000");
  write_whole(path, text.erase(second, text.find('\n', second) + 1 - second));
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.lost, (std::map<std::string, std::uint64_t>{{"missing_lines", 1}}));
  EXPECT_TRUE(trace.footer.closed);
  EXPECT_FALSE(trace.footer.complete);
  EXPECT_EQ(trace.problem, "events are missing: " + path +
                               ": it says that 3 were written, and has 2: what is there is used; "
                               "copy the file again");
}

TEST(TraceReader, a_metadata_event_that_is_not_json_is_left_out) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {1000}});
  std::string text = read_whole(path);
  write_whole(path, text.replace(text.find("\"tid\":7"), 7, "\"tid\":"));
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.metadata_events.size(), 1U);
  EXPECT_TRUE(trace.problem.starts_with("a damaged line")) << trace.problem;
}

TEST(TraceReader, a_footer_that_is_not_json_is_told) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {1000}});
  std::string text = read_whole(path);
  write_whole(path, text.replace(text.find("\"events\": 1"), 11, "\"events\": ,"));
  const ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 1U);
  EXPECT_EQ(trace.footer.metadata, "");
  EXPECT_FALSE(trace.footer.complete);
  EXPECT_TRUE(trace.problem.starts_with("metadata that is not JSON")) << trace.problem;
}

TEST(TraceReader, text_behind_the_end_is_told) {
  ScratchFolder folder;
  for (const bool gzip : {false, true}) {
    const std::string text =
        read_whole(write_sample(folder / "a.json", {.times_ns = {1, 2}, .gzip = gzip}));
    const std::string path = folder / "joined.json";
    for (const std::string& behind : {text, std::string("x"), std::string("\n\nx\n")}) {
      write_whole(path, text + behind);
      const ReadTrace trace = read_trace(path);
      EXPECT_TRUE(gzip || trace.problem.starts_with("text behind the end of a trace: " + path +
                                                    ": at byte " + std::to_string(text.size())))
          << trace.problem;
      EXPECT_NE(trace.problem.find("text behind the end of a trace: " + path), std::string::npos);
      EXPECT_EQ(trace.events.size(), 2U);
      EXPECT_NE(trace.footer.metadata, "");
      EXPECT_FALSE(trace.footer.complete);
    }
    write_whole(path, text + (gzip ? "" : "\n\n"));
    EXPECT_EQ(read_trace(path).problem, "");
    EXPECT_TRUE(read_trace(path).footer.complete);
  }
}

TEST(TraceReader, lines_up_to_a_mebibyte) {
  ScratchFolder folder;
  const std::string path = write_sample(folder / "a.json", {.times_ns = {1, 2, 3}});
  std::string text = read_whole(path);
  text.insert(text.find("e1"), std::string(900000, 'x'));
  write_whole(path, text);
  ReadTrace trace = read_trace(path);
  EXPECT_EQ(trace.problem, "");
  EXPECT_EQ(trace.events.size(), 3U);

  text.insert(text.find("e1"), std::string(200000, 'x'));
  write_whole(path, text);
  trace = read_trace(path);
  EXPECT_EQ(trace.events.size(), 2U);
  EXPECT_EQ(trace.lost, (std::map<std::string, std::uint64_t>{{"too_long", 1}}));
  const std::size_t offset = text.find("{\"ts\":0.002");
  EXPECT_NE(trace.problem.find("a damaged line: " + path + ": at byte " + std::to_string(offset)),
            std::string::npos)
      << trace.problem;
}

TEST(TraceReader, memory_is_one_small_buffer_and_some_shapes) {
  ScratchFolder folder;
  const auto path = write_sample(folder / "a.json", {.times_ns = many_times(100000)});
  TraceReader reader;
  ASSERT_TRUE(reader.open(path));
  while (reader.next().kind != TraceLine::Kind::end) {
  }
  EXPECT_GT(reader.file_bytes(), 8U << 20);
  EXPECT_EQ(reader.file_bytes_read(), reader.file_bytes());
  EXPECT_EQ(reader.memory_bytes(), LineReader::first_buffer_bytes + EventShapes::most_memory_bytes);
}

TEST(TraceReader, IsUsedAgainAsIfItWereNew) {
  const ScratchFolder folder;
  SampleTrace sample;
  for (std::int64_t i = 0; i < 100; ++i) sample.times_ns.push_back(i);
  TraceReader reader;
  ASSERT_TRUE(reader.open(write_sample(folder / "trace.json", sample)));
  for (int i = 0; i < 50; ++i) reader.next();
  write_whole(folder / "other", "[1]\n");
  EXPECT_FALSE(reader.open(folder / "other"));
  EXPECT_NE(reader.problem().find("at byte 0: "), std::string::npos) << reader.problem();
}

}  // namespace
}  // namespace traceagent::trace
