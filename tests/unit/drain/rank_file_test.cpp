#include "agent/drain/rank_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>
#include <sstream>
#include <thread>

#include "agent/drain/file_names.hpp"
#include "agent/drain/recover_window.hpp"
#include "agent/drain/written_window.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::drain {
namespace {

using api::Function;
using event::Layout;
using event::Record;

constexpr std::uint64_t us = 1000;

class RankFileTest : public testing::Test {
 protected:
  RankFileReport write(const ring::Window& window, const RankFileOptions& options = {}) {
    RankFileReport report = write_rank_file(crafted.ring(), window, options);
    EXPECT_EQ(report.problem, "");
    text = trace::read_whole(report.path);
    return report;
  }
  // The lines of `text` that begin so, without their trailing commas.
  std::vector<std::string> lines(const std::string& start) const {
    std::vector<std::string> found;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
      if (!line.starts_with(start)) continue;
      if (line.back() == ',') line.pop_back();
      found.push_back(line);
    }
    return found;
  }
  bool says(const std::string& part) const { return text.find(part) != std::string::npos; }

  Record& wait(ring::Chunk& chunk, std::uint64_t begin, std::uint64_t end) {
    return crafted.add(chunk, Function::cudaDeviceSynchronize, Layout::none, begin, end);
  }

  trace::ScratchFolder scratch;
  CraftedRing crafted{scratch / "out/{run_name}"};
  std::string text;
};

TEST_F(RankFileTest, HoldsTheWindowInOrder) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  ring::Chunk& loader = crafted.chunk_of(501, "loader");
  wait(main, 90 * us, 95 * us);  // before
  wait(main, 110 * us, 130 * us);
  wait(loader, 120 * us, 125 * us);
  wait(main, 150 * us, 0);           // still running
  wait(loader, 160 * us, 290 * us);  // ends after the window
  wait(main, 200 * us, 210 * us);    // after
  crafted.step(7, 100 * us, 150 * us);
  crafted.step(8, 150 * us, 0);
  const RankFileReport report = write(crafted.window(100 * us, 200 * us, 7, 8));

  EXPECT_EQ(report.path, scratch / "out/a run/ep0-ba9-rank3.json");
  const auto event = [](const char* times, const char* tid, const char* arguments) {
    return std::string("{\"ts\":") + times +
           ",\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaDeviceSynchronize\",\"pid\":3,"
           "\"tid\":" +
           tid + ",\"args\":{" + arguments + "}}";
  };
  const auto step = [](const char* times, const char* number, const char* rest = "") {
    return std::string("{\"ts\":") + times +
           ",\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" + number +
           "\",\"pid\":3,\"tid\":4900000,\"args\":{\"step\":" + number + rest + "}}";
  };
  EXPECT_EQ(lines("{\"ts\":"),
            (std::vector<std::string>{
                step("0.000,\"dur\":50.000", "7"),
                event("10.000,\"dur\":20.000", "500", "\"correlation\":1025,\"result\":0"),
                event("20.000,\"dur\":5.000", "501", "\"correlation\":2047,\"result\":0"),
                step("50.000,\"dur\":50.000", "8", ",\"unfinished\":true"),
                event("50.000,\"dur\":50.000", "500", "\"correlation\":1026,\"in flight\":true"),
                event("60.000,\"dur\":130.000", "501", "\"correlation\":2048,\"result\":0")}));
  EXPECT_EQ(report.events, 6u);
  EXPECT_TRUE(says("\"baseTimeNanoseconds\": " + std::to_string(epoch_ns + 100'000)));
  EXPECT_TRUE(says("\"distributedInfo\": {\"rank\": 3, \"world_size\": 8"));
  EXPECT_TRUE(text.ends_with("\"complete\": true\n}\n"));
}

TEST_F(RankFileTest, AStepThatTheProgramsEndCutsEndsWithItsLastCall) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  const auto add = [&](Function function, Layout layout, std::uint64_t begin, std::uint64_t end) {
    crafted.add(main, function, layout, begin, end);
  };
  add(Function::cudaLaunchKernel, Layout::launch, 110 * us, 130 * us);
  add(Function::cudaLaunchKernel, Layout::launch, 150 * us, 160 * us);
  add(Function::cudaDeviceSynchronize, Layout::synchronise, 840 * us, 841 * us);  // at its end
  add(Function::cudaFree, Layout::none, 850 * us, 860 * us);
  crafted.step(7, 100 * us, 140 * us);
  crafted.step(8, 140 * us, 0);
  write(crafted.window(100 * us, 900 * us, 7, 8));
  EXPECT_TRUE(says("{\"ts\":0.000,\"dur\":40.000,"));
  EXPECT_TRUE(says("\"args\":{\"step\":7}}"));
  EXPECT_TRUE(says("{\"ts\":40.000,\"dur\":20.000,"));
  EXPECT_TRUE(says("\"args\":{\"step\":8,\"unfinished\":true}}"));
}

// Tried again when the ring knew of newer steps alone: the file says what is not there.
TEST_F(RankFileTest, SaysHowManyStepsAreOverwritten) {
  crafted.step(7 + ring::step_slots, 900 * us, 950 * us);
  crafted.step(8 + ring::step_slots, 950 * us, 990 * us);
  crafted.step(9, 150 * us, 180 * us);
  write(crafted.window(100 * us, 200 * us, 7, 9));
  EXPECT_TRUE(says("\"last_step\": 9, \"steps_not_shown\": 2, "));
  write(crafted.window(200 * us, 300 * us, 9, 10));
  EXPECT_FALSE(says("steps_not_shown")) << "one that never began";
  const std::uint64_t first = 10, last = first + ring::step_slots + 2;
  for (std::uint64_t step = first; step <= last; ++step) crafted.step(step, 310 * us, 311 * us);
  write(crafted.window(300 * us, 400 * us, first, last));
  EXPECT_TRUE(says("\"steps_not_shown\": 3, "));
}

// PyTorch's profiler, say, with ranges for NVTX: to HTA each would be a step of its own.
TEST_F(RankFileTest, WritesNoStepBesideTheJobsOwnOfThatName) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  crafted.step(7, 110 * us, 150 * us);
  crafted.step(8, 150 * us, 190 * us);
  crafted.add(main, Function::nvtx_range, Layout::range, 110 * us, 150 * us).extra =
      crafted.ring().add_name("ProfilerStep#107");
  crafted.add(main, Function::nvtx_range, Layout::range, 150 * us, 160 * us).extra =
      crafted.ring().add_name("another");
  write(crafted.window(100 * us, 200 * us, 7, 8));
  EXPECT_TRUE(says("\"ProfilerStep#107\""));
  EXPECT_FALSE(says("\"ProfilerStep#7\""));
  EXPECT_TRUE(says("\"ProfilerStep#8\""));
}

TEST_F(RankFileTest, NamesEveryLaneThatItUses) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  crafted.add(main, Function::nvtx_range, Layout::range, 110 * us, 150 * us);
  wait(main, 120 * us, 180 * us);  // overlaps the range: a lane of its own
  crafted.add(main, Function::nvtx_range, Layout::range, 125 * us, 190 * us).flags =
      event::flag_process_range;
  write(crafted.window(100 * us, 200 * us, 0, 0));
  for (const char* tid : {"500", "10000500", "5000000"}) {
    const std::string lane = std::string("\"tid\":") + tid + ",";
    EXPECT_EQ(trace::count_of(text, std::string("\"name\":\"thread_name\",\"pid\":3,") + lane), 1u)
        << tid;
    EXPECT_EQ(
        trace::count_of(text, std::string("\"name\":\"thread_sort_index\",\"pid\":3,") + lane), 1u)
        << tid;
  }
  EXPECT_EQ(lines("{\"ts\":20.000").size(), 1u);
  EXPECT_NE(lines("{\"ts\":20.000").at(0).find("\"tid\":10000500"), std::string::npos);
}

// A call may end between the look that names the lanes and the one that writes the events.
TEST_F(RankFileTest, NamesItsLanesWhileCallsEnd) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  crafted.add(main, Function::nvtx_range, Layout::range, 110 * us, 0);
  Record& ending = wait(main, 120 * us, 0);
  for (std::uint64_t i = 0; i < 300; ++i) wait(main, (130 + i) * us, (130 + i) * us + 500);
  const ring::Window& window = crafted.window(100 * us, 900 * us, 0, 0);
  crafted.ring().header().identity.overwrite_files = 1;
  for (int round = 0; round < 200; ++round) {
    ending.end_ticks.store(0);
    std::thread job([&] {
      std::this_thread::sleep_for(std::chrono::microseconds(5 * round));
      ending.end_ticks.store(950 * us);
    });
    write(window);
    job.join();
    EXPECT_NE(trace::count_of(text, "\"tid\":10000500,"), 1u) << "a lane without a name";
  }
}

TEST_F(RankFileTest, AnEmptyWindowIsAWholeFile) {
  const RankFileReport report = write(crafted.window(100 * us, 200 * us, 0, 0));
  EXPECT_EQ(report.events, 0u);
  EXPECT_TRUE(lines("{\"ts\":").empty());
  EXPECT_TRUE(text.ends_with("\"complete\": true\n}\n"));
}

TEST_F(RankFileTest, SaysWhatWasLost) {
  auto& dropped = crafted.ring().header().dropped;
  ring::Window& window = crafted.window(100 * us, 200 * us, 0, 0);
  window.dropped_at_begin[0] = 100;
  window.dropped_at_end[0] = 142;
  dropped[0] = 999;
  window.overwritten = 7;
  const RankFileReport report = write(window);
  EXPECT_TRUE(says("\"ring_full\": 42")) << text;
  EXPECT_TRUE(says("\"overwritten\": 7")) << text;
  ring::DropCounts told{};
  told[static_cast<std::size_t>(ring::DropCause::ring_full)] = 42;
  told[static_cast<std::size_t>(ring::DropCause::overwritten)] = 7;
  EXPECT_EQ(report.dropped, told) << "the file's, as the line at the end tells them";
}

// One anchor, at 1 us, read to 25 ns, and a rate that is right to 0.1 %.
TEST_F(RankFileTest, SaysByHowMuchItsTimesMayBeOff) {
  write(crafted.window(100 * us, 200 * us, 0, 0));
  EXPECT_TRUE(says("\"error_ns\": 224,")) << text;
  EXPECT_TRUE(says("\"clock_sync_error_bound\": 0.224,")) << text;
}

TEST_F(RankFileTest, TellsTheProcessGroups) {
  crafted.communicator(0xabcdef, 3, 8);
  write(crafted.window(100 * us, 200 * us, 0, 0));
  EXPECT_TRUE(says("\"pg_name\": \"0\"")) << text.substr(0, 600);
  EXPECT_TRUE(says("comm 0xabcdef"));
  EXPECT_TRUE(says("\"pg_size\": 8"));
}

TEST_F(RankFileTest, ReplacesNoFileOfOthers) {
  const ring::Window& window = crafted.window(100 * us, 200 * us, 7, 8);
  std::filesystem::create_directories(scratch / "out/a run");
  trace::write_whole(scratch / "out/a run/ep0-ba9-rank3.json", "mine");
  const RankFileReport report = write_rank_file(crafted.ring(), window, {});
  EXPECT_EQ(trace::read_whole(scratch / "out/a run/ep0-ba9-rank3.json"), "mine");
  EXPECT_EQ(report.path, scratch / "out/a run/ep0-ba9-rank3-pid4242.json");
  EXPECT_EQ(report.problem, "");
}

TEST_F(RankFileTest, SaysWhatItReplacesOfItsOwn) {
  crafted.ring().header().identity.overwrite_files = 1;
  ring::Window& one = crafted.window(100 * us, 200 * us, 7, 8);
  std::filesystem::create_directories(scratch / "out/a run");
  trace::write_whole(scratch / "out/a run/ep0-ba9-rank3.json", "mine");
  const RankFileReport first = write(one);
  EXPECT_EQ(first.replaced_bytes, 0u) << "another's";
  one.file_name = crafted.ring().add_name(first.path);
  RankFileOptions options;
  options.most_bytes = 16;  // beside what goes
  const RankFileReport second = write(crafted.window(300 * us, 400 * us, 7, 8), options);
  EXPECT_EQ(second.path, first.path);
  EXPECT_EQ(second.replaced_bytes, first.bytes);
}

// A pid that comes again within one run.
TEST_F(RankFileTest, ReplacesNoFileOfAnEarlierProcessOfItsPid) {
  const ring::Window& window = crafted.window(100 * us, 200 * us, 7, 8);
  const std::string name = scratch / "out/a run/ep0-ba9-rank3";
  std::filesystem::create_directories(scratch / "out/a run");
  for (const char* end : {".json", "-pid4242.json", "-pid4242-2.json"}) {
    trace::write_whole(name + end, "mine");
  }
  const RankFileReport report = write_rank_file(crafted.ring(), window, {});
  EXPECT_EQ(report.problem, "");
  EXPECT_EQ(report.path, name + "-pid4242-3.json");
  EXPECT_EQ(trace::read_whole(name + "-pid4242.json"), "mine");
}

TEST_F(RankFileTest, WhereAllNamesAreTakenItIsNotWrittenFirst) {
  const ring::Window& window = crafted.window(100 * us, 200 * us, 7, 8);
  const std::string name = scratch / "out/a run/ep0-ba9-rank3.json";
  std::filesystem::create_directories(scratch / "out/a run");
  for (int i = 0; i < most_names; ++i) trace::write_whole(name_at_attempt(name, 4242, i), "mine");
  const RankFileReport report = write_rank_file(crafted.ring(), window, {});
  EXPECT_NE(report.problem.find("refused to replace"), std::string::npos) << report.problem;
  EXPECT_EQ(report.bytes, 0u);
}

TEST_F(RankFileTest, AFolderThatCannotBeIsOneLine) {
  trace::write_whole(scratch / "out", "a file in the way");
  const RankFileReport report =
      write_rank_file(crafted.ring(), crafted.window(100 * us, 200 * us, 0, 0), {});
  EXPECT_NE(report.problem.find(scratch / "out"), std::string::npos) << report.problem;
  EXPECT_EQ(report.problem.find('\n'), std::string::npos);
}

// Numbers of a damaged or hostile ring: any file or problem will do, but it ends.
TEST_F(RankFileTest, ADamagedRingEndsTheFileToo) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  for (std::uint64_t i = 0; i < ring::records_per_chunk; ++i) {
    wait(main, i * 0x9e3779b97f4a7c15u | 1, i * 0xc2b2ae3d27d4eb4fu);
  }
  RankFileOptions recovered;
  recovered.recovered = true;
  ring::Header& header = crafted.ring().header();
  header.anchors.state = 1'000'000'255;
  header.communicator_count = 1'000'000;
  ring::Window& window = crafted.window(1, UINT64_MAX, 0, UINT64_MAX);
  const RankFileReport report = write_rank_file(crafted.ring(), window, recovered);
  EXPECT_TRUE(report.problem.empty());
  header.identity.rank = header.identity.trace_pid = INT64_MIN;
  header.identity.steps_per_epoch = UINT64_MAX;
  header.identity.samples_per_step = UINT64_MAX;
  header.identity.output_folder = 77;
  write_rank_file(crafted.ring(), window, recovered);
}

TEST_F(RankFileTest, RecoversWhatHasNoFileYet) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  wait(main, 110 * us, 120 * us);
  wait(main, 310 * us, 320 * us);
  wait(main, 510 * us, 520 * us);
  wait(main, 530 * us, 0);
  crafted.window(100 * us, 200 * us, 0, 0).state = ring::WindowState::written;
  crafted.window(300 * us, 400 * us, 2, 2);
  crafted.window(500 * us, 0, 4, 4);
  const auto reports = recover_windows(crafted.ring(), UINT64_MAX);
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].path, scratch / "out/a run/ep0-ba3-rank3.json");
  EXPECT_EQ(reports[0].events, 1u);
  EXPECT_EQ(reports[1].path, scratch / "out/a run/ep0-ba5-rank3.json");
  EXPECT_EQ(reports[1].events, 2u);
  text = trace::read_whole(reports[1].path);
  EXPECT_TRUE(says("\"in flight\":true"));
  EXPECT_TRUE(says("\"recovered\": true")) << text;
  EXPECT_FALSE(says("\"complete\": true")) << "the process did not live to say so";
}

TEST_F(RankFileTest, RecoversNoMoreBytesThanItMay) {
  ring::Chunk& main = crafted.chunk_of(500, "python");
  for (std::uint64_t i = 0; i < 200; ++i) wait(main, (100 + i) * us, (101 + i) * us);
  // Windows of a hostile ring: each of them holds everything.
  for (std::uint64_t step = 0; step < 3; ++step) crafted.window(100 * us, 400 * us, step, step);
  const std::uint64_t most_bytes = 60'000;
  const auto reports = recover_windows(crafted.ring(), most_bytes);
  ASSERT_EQ(reports.size(), 3u);
  std::uint64_t bytes = 0;
  for (const RankFileReport& report : reports) {
    if (report.problem.empty()) bytes += std::filesystem::file_size(report.path);
  }
  EXPECT_EQ(reports[0].problem, "");
  EXPECT_NE(reports[2].problem.find("may be damaged"), std::string::npos) << bytes;
  EXPECT_FALSE(std::filesystem::exists(reports[2].path));
  EXPECT_LE(bytes, most_bytes);
}

// Its writer was killed before it could note the file.
TEST_F(RankFileTest, KnowsTheFileOfAWindow) {
  crafted.ring().header().identity.run_key = crafted.ring().add_name("slurm17");
  const ring::Window& one = crafted.window(100 * us, 200 * us, 0, 0);
  const ring::Window& two = crafted.window(300 * us, 400 * us, 1, 1);
  const std::string file = write_rank_file(crafted.ring(), one, {}).path;
  EXPECT_TRUE(holds_window(file, crafted.ring(), one));
  EXPECT_FALSE(holds_window(file, crafted.ring(), two));
  EXPECT_FALSE(holds_window(scratch / "none.json", crafted.ring(), one));
  const std::string whole = trace::read_whole(file);
  trace::write_whole(file, whole.substr(0, whole.size() - 20));
  EXPECT_FALSE(holds_window(file, crafted.ring(), one)) << "cut";
  trace::write_whole(file, whole);
  crafted.ring().header().owner_pid = 4243;
  EXPECT_FALSE(holds_window(file, crafted.ring(), one)) << "another process's";
  crafted.ring().header().owner_pid = 4242;
  crafted.ring().header().identity.run_key = crafted.ring().add_name("slurm18");
  EXPECT_FALSE(holds_window(file, crafted.ring(), one)) << "another run's";
}

}  // namespace
}  // namespace traceagent::drain
