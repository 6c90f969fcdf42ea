// What "traceagent check FILE" makes of a trace's own words.
#include "tools/check_trace.hpp"

#include <gtest/gtest.h>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::tools {
namespace {

const std::string identity = R"("identity": {"rank": 3, "pid": 77, "host": "n"})";
const std::string window = R"("window": {"cycle": 1, "first_step": 6, "last_step": 8})";
const std::string doors =
    R"("doors": {"cudart": {"open": true, "calls": 9}, "dlsym": {"open": true},)"
    R"( "driver": {"open": false, "calls": 0}})";
const std::string complete_device =
    R"("device": {"source": "cupti", "launches": 4, "work": 4, "launches_without_work": {"no_work": 1},)"
    R"( "work_without_launch": {"launched_before_window": 2}, "calls_only_cupti_saw": {"cuLaunchKernel": 5}})";

std::string rank_with(const std::string& device, const std::string& dropped = "{}",
                      const std::string& more = "") {
  return "{" + identity + ", " + window + ", \"events\": 1, \"dropped\": " + dropped + ", " +
         doors + ", " + device + more + "}";
}

CheckReport page_of(const std::string& metadata) {
  CheckReport report;
  check_rank(metadata, report);
  return report;
}

bool says(const CheckReport& report, const std::string& part) {
  return report.text().find(part) != std::string::npos;
}

TEST(CheckTrace, nothing_is_missing) {
  const CheckReport page = page_of(rank_with(complete_device));
  EXPECT_EQ(page.problems(), 0) << page.text();
  for (const char* part :
       {"Rank 3 on n, pid 77, cycle 1, steps 6 to 8: 1 events",
        "yes  door cudart           9 records", "yes  door dlsym            open",
        "no   door driver           not open", "from CUPTI: 4 launches, 4 pieces of work",
        "through CUPTI: cuLaunchKernel 5", "losses                none"}) {
    EXPECT_TRUE(says(page, part)) << part << "\n" << page.text();
  }
}

TEST(CheckTrace, steps_that_are_not_shown_are_missing) {
  std::string metadata = rank_with(complete_device);
  const std::string last = R"("last_step": 8)";
  metadata.replace(metadata.find(last), last.size(), last + R"(, "steps_not_shown": 2)");
  const CheckReport page = page_of(metadata);
  EXPECT_EQ(page.problems(), 1) << page.text();
  EXPECT_TRUE(says(page, "NO   steps not shown")) << page.text();
  EXPECT_TRUE(says(page, "2 steps of 3")) << page.text();
}

TEST(CheckTrace, of_another_programs_file_only_what_was_read_is_told) {
  const CheckReport page = page_of(
      R"({"identity": {"rank": 4, "file": "a.json"}, "dropped": {"cut": 1}, "imported": {"file": "a.json",)"
      R"( "kind": "Chrome", "events": 99, "problem": "a trace that is cut off: a.json: at byte 12"}})");
  EXPECT_EQ(page.problems(), 2) << page.text();
  for (const char* part :
       {"Rank 4, imported from a.json (Chrome): 99 events", "at byte 12", "1: cut"}) {
    EXPECT_TRUE(says(page, part)) << part << "\n" << page.text();
  }
  EXPECT_FALSE(says(page, "device")) << page.text();
}

TEST(CheckTrace, of_an_imported_file_without_a_clock_that_is_told) {
  const auto page_with = [](const std::string& clock) {
    return page_of(
        R"({"identity": {"rank": 4}, "dropped": {}, "imported": {"file": "a.json", "kind": "Chrome",)"
        R"( "events": 9, "has_clock": )" +
        clock + "}}");
  };
  EXPECT_TRUE(says(page_with("false"), "no   clock                 it has none"));
  EXPECT_FALSE(says(page_with("true"), "clock"));
  EXPECT_EQ(page_with("false").problems(), 0);
}

TEST(CheckTrace, each_loss_has_its_remedy) {
  const CheckReport page = page_of(rank_with(
      R"("device": {"source": "cupti", "launches": 9, "work": 5,)"
      R"( "launches_without_work": {"before_recording": 2, "after_recording": 3, "late": 1, "unknown": 1, "perhaps_lost": 7},)"
      R"( "work_without_launch": {"call_lost": 6}, "calls_only_cupti_saw": {},)"
      R"( "nccl_kernels_without_call": {"in_graph": 9, "several_calls": 4}})",
      R"({"ring_full": 12, "device_dropped": 3})"));
  EXPECT_EQ(page.problems(), 9) << page.text();
  for (const char* part :
       {"7 launches have no device record, perhaps among those that this process",
        "3 launches came when CUPTI was off again",
        "2 launches came before CUPTI was on: add steps to schedule.warmup",
        "1 launches had not ended when the file was written",
        "4 kernels of NCCL's may carry out one of several calls: set doors.",
        "6 kernels, copies or sets lost the record of their call",
        "12: events found no room in the ring: raise ring.size",
        "3: CUPTI had no buffer for device records: raise device.buffers"}) {
    EXPECT_TRUE(says(page, part)) << part << "\n" << page.text();
  }
}

TEST(CheckTrace, nothing_to_set_helps_a_process_that_died) {
  const std::string late =
      R"("device": {"source": "cupti", "launches": 9, "work": 5, "launches_without_work": {"late": 4}})";
  const std::string dropped = R"({"device_late": 4})";
  EXPECT_TRUE(says(page_of(rank_with(late, dropped)), "raise device.settle"));
  const CheckReport page = page_of(rank_with(late, dropped, R"(, "recovered": true)"));
  EXPECT_FALSE(says(page, "device.settle")) << page.text();
  EXPECT_TRUE(says(page, "4 launches were not told of when the process died\n")) << page.text();
  EXPECT_TRUE(says(page, "recovered after the process died")) << page.text();
  EXPECT_EQ(page.problems(), 3) << page.text();
}

TEST(CheckTrace, what_a_process_that_has_ended_left_in_memory_lacks_nothing) {
  const CheckReport dead = page_of(rank_with(complete_device, "{}", R"(, "recovered": true)"));
  EXPECT_TRUE(says(dead, "NO   losses                recovered after the process died"))
      << dead.text();
  EXPECT_FALSE(says(dead, "losses                none")) << dead.text();
  const CheckReport ended =
      page_of(rank_with(complete_device, "{}", R"(, "recovered": true, "process_finished": true)"));
  EXPECT_TRUE(says(ended, "yes  recovered             from memory")) << ended.text();
  EXPECT_TRUE(says(ended, "yes  losses                none")) << ended.text();
  EXPECT_EQ(ended.problems(), 0) << ended.text();
}

TEST(CheckTrace, cycles_that_were_not_recorded_are_a_loss) {
  const CheckReport page =
      page_of(rank_with(complete_device, "{}", R"(, "coverage": {"cycles_lost": 3})"));
  EXPECT_EQ(page.problems(), 1) << page.text();
  EXPECT_TRUE(says(page, "NO   losses                3 cycles before this one were not recorded"))
      << page.text();
}

TEST(CheckTrace, cycles_that_were_begun_late_are_a_loss) {
  const CheckReport page =
      page_of(rank_with(complete_device, "{}", R"(, "coverage": {"cycles_begun_late": 2})"));
  EXPECT_EQ(page.problems(), 1) << page.text();
  EXPECT_TRUE(says(page, "2 cycles until here lack their first steps")) << page.text();
}

TEST(CheckTrace, what_cupti_saw_alone_went_round_only_where_the_ring_had_room) {
  EXPECT_TRUE(says(page_of(rank_with(complete_device)), "yes  went round            in the trace"));
  const CheckReport full = page_of(rank_with(complete_device, R"({"ring_full": 5})"));
  EXPECT_FALSE(says(full, "went round")) << full.text();
  EXPECT_TRUE(says(full, "yes  from CUPTI alone      in the trace")) << full.text();
}

TEST(CheckTrace, no_device_times_are_a_gap_unless_nobody_wants_them) {
  const std::string taken =
      R"("device": {"source": "none", "problem": "CUPTI: taken by another profiler: end that one"})";
  EXPECT_TRUE(
      says(page_of(rank_with(taken)), "NO   device times          CUPTI: taken by another"));
  const CheckReport unwanted =
      page_of(rank_with(taken, "{}", R"(, "options": {"doors.cupti": false})"));
  EXPECT_EQ(unwanted.problems(), 0) << unwanted.text();
  const CheckReport by_events = page_of(rank_with(
      R"("device": {"source": "cuda_events", "timed_by_events": 7, "problem": "CUPTI: taken"})",
      "{}", R"(, "coverage": {"timed_by_events": 7, "untimed_in_capture": 2})"));
  EXPECT_EQ(by_events.problems(), 1) << by_events.text();
  EXPECT_TRUE(
      says(by_events, "of 7 calls alone, from CUDA events (not timed: in_capture 2): CUPTI: taken"))
      << by_events.text();
  const CheckReport beginning = page_of(
      R"({"device": {"source": "none"}, "doors": {"cudart": {"calls": 5}}, "window": {"kind": "startup: no step"},)"
      R"( "options": {"schedule.skip_first": 0, "schedule.wait": 3}})");
  EXPECT_TRUE(says(beginning, "CUPTI is on from the schedule's first warm-up step"))
      << beginning.text();
  EXPECT_EQ(page_of("{}").problems(), 1);
  EXPECT_EQ(
      page_of(R"({"device": {"source": "none"}, "doors": {"nvtx": {"calls": 5}}})").problems(), 0);
}

TEST(CheckTrace, libraries_that_went_round) {
  const std::string coverage =
      R"(, "coverage": {"libraries": [{"name": "libcudart.so.13", "path": "/a/libcudart.so.13", "functions": 4}],)"
      R"( "went_round": [{"path": "/b/libcudart.so.13", "why": "other_copy"},)"
      R"( {"path": "/c/libcublas.so.13", "why": "own_runtime"}, {"path": "/d", "why": "by magic"}]})";
  const CheckReport page = page_of(rank_with(complete_device, "{}", coverage));
  EXPECT_EQ(page.problems(), 0) << page.text();
  EXPECT_TRUE(says(page, "4 functions in use: /a/libcudart.so.13")) << page.text();
  EXPECT_TRUE(says(page, "no   went round            /b/libcudart.so.13 is a second copy"))
      << page.text();
  EXPECT_TRUE(says(page, "yes  own runtimes          libcublas.so.13")) << page.text();
  const CheckReport blind = page_of(rank_with(R"("device": {"source": "none"})", "{}",
                                              coverage + R"(, "options": {"doors.cupti": false})"));
  EXPECT_EQ(blind.problems(), 3) << blind.text();
  EXPECT_TRUE(says(blind, "/d by magic: use a newer TraceAgent")) << blind.text();
  EXPECT_TRUE(says(blind, "NO   own runtimes          libcublas.so.13")) << blind.text();
}

TEST(CheckTrace, driver_functions_that_went_round) {
  const std::string coverage =
      R"(, "coverage": {"driver_went_round": 3, "driver_went_round_first": "cuMemAlloc at 2000"})";
  const CheckReport page = page_of(rank_with(complete_device, "{}", coverage));
  EXPECT_EQ(page.problems(), 0) << page.text();
  EXPECT_TRUE(says(page, "no   went round            3 look-ups of driver functions"))
      << page.text();
  const CheckReport blind = page_of(rank_with(R"("device": {"source": "none"})", "{}",
                                              coverage + R"(, "options": {"doors.cupti": false})"));
  EXPECT_EQ(blind.problems(), 1) << blind.text();
  EXPECT_TRUE(says(blind,
                   "NO   went round            3 look-ups of driver functions gave what "
                   "this agent cannot stand for (cuMemAlloc at 2000): is the CUDA newer than it?"))
      << blind.text();
}

std::string file_with(const std::string& metadata, bool complete = true) {
  return "{\n\"schemaVersion\": 1,\n\"distributedInfo\": {\"rank\": 3, \"world_size\": 4},\n"
         "\"displayTimeUnit\": \"ns\",\n\"baseTimeNanoseconds\": 5,\n\"traceName\": \"x\",\n"
         "\"deviceProperties\": [],\n\"traceEvents\": [\n"
         "{\"ts\":1.000,\"dur\":1.000,\"ph\":\"X\",\"cat\":\"c\",\"name\":\"e\",\"pid\":3,\"tid\":"
         "1,"
         "\"args\":{}}\n],\n\"traceagent\": " +
         metadata + (complete ? ",\n\"complete\": true" : "") + "\n}\n";
}

class CheckTraceFile : public testing::Test {
 protected:
  bool check(const std::string& text) {
    trace::write_whole(folder / "t.json", text);
    page = CheckReport();
    return check_trace(folder / "t.json", page, problem);
  }

  trace::ScratchFolder folder;
  CheckReport page;
  std::string problem;
};

TEST_F(CheckTraceFile, whole_and_of_one_rank) {
  EXPECT_TRUE(check(file_with(rank_with(complete_device))));
  EXPECT_EQ(page.problems(), 0) << page.text();
  EXPECT_TRUE(check(file_with(rank_with(complete_device), false)));
  EXPECT_EQ(page.problems(), 1) << page.text();
}

TEST_F(CheckTraceFile, of_a_node_with_a_rank_missing) {
  const std::string merged = "{\"merged\": [\n" + rank_with(complete_device) + ",\n" +
                             rank_with(complete_device, R"({"late": 0, "ring_full": 1})") +
                             "\n], \"events\": 1, \"missing_ranks\": [2, 5], \"incomplete\": "
                             "[{\"file\": \"f.json\", \"problem\": \"cut\"}]}";
  EXPECT_TRUE(check(file_with(merged, false)));
  EXPECT_EQ(page.problems(), 3) << page.text();
  EXPECT_TRUE(says(page, "missing: ranks 2, 5: traceagent recover")) << page.text();
  EXPECT_TRUE(says(page, "f.json: cut")) << page.text();
}

std::string rank_of_cycle(int rank, int cycle, int first, int last, const std::string& run = "r") {
  return R"({"identity": {"rank": )" + std::to_string(rank) + R"(, "run_key": ")" + run +
         R"("}, "window": {"cycle": )" + std::to_string(cycle) + R"(, "first_step": )" +
         std::to_string(first) + R"(, "last_step": )" + std::to_string(last) +
         R"(}, "events": 0, "dropped": {}, "device": {"source": "none"}})";
}

TEST_F(CheckTraceFile, of_a_node_whose_ranks_recorded_other_steps) {
  const auto node_of = [](const std::string& ranks) {
    return file_with(R"({"merged": [)" + ranks + R"(], "events": 1, "missing_ranks": []})");
  };
  const std::string others = rank_of_cycle(0, 0, 9, 12) + ", " + rank_of_cycle(2, 0, 9, 11) + ", ";
  // Ended earlier; another cycle; another run; two processes of one rank.
  for (const std::string& rank :
       {rank_of_cycle(1, 0, 9, 10), rank_of_cycle(1, 1, 33, 36), rank_of_cycle(1, 0, 33, 36, "s"),
        rank_of_cycle(1, 0, 33, 36) + ", " + rank_of_cycle(1, 0, 41, 44)}) {
    EXPECT_TRUE(check(node_of(others + rank)));
    EXPECT_FALSE(says(page, "not of the same steps")) << page.text();
  }
  EXPECT_TRUE(check(node_of(others + rank_of_cycle(1, 0, 33, 36))));
  EXPECT_TRUE(
      says(page,
           "NO   steps                 cycle 0 is not of the same steps: ranks 0, 2 steps 9 "
           "to 12, rank 1 steps 33 to 36: let all count the same: set step.mark"))
      << page.text();
}

TEST_F(CheckTraceFile, that_was_cut_or_changed_or_is_none) {
  const std::string whole = file_with(rank_with(complete_device));
  EXPECT_FALSE(check(whole.substr(0, whole.find("],\n\"traceagent\""))));
  EXPECT_NE(problem.find("t.json"), std::string::npos) << problem;
  EXPECT_FALSE(check("[]\n"));
  std::string changed = whole;
  const std::size_t event = changed.find("{\"ts\"");
  changed.erase(event, changed.find('\n', event) + 1 - event);
  EXPECT_TRUE(check(changed));
  EXPECT_EQ(page.problems(), 1) << page.text();
  EXPECT_TRUE(says(page, "0 in the file, 1 were written")) << page.text();
}

}  // namespace
}  // namespace traceagent::tools
