#include "tools/import/run_file.hpp"

#include <gtest/gtest.h>

#include "agent/trace/merge.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::tools {
namespace {

// An event of its own time, the earlier the later the run was begun, and one of all runs'.
std::string write_run(const std::string& path, int number) {
  const auto line = [number](int ts) {
    return R"({"ts":)" + std::to_string(ts) + R"(.000,"ph":"i","pid":0,"tid":1,"name":"e)" +
           std::to_string(number) + "\"}";
  };
  trace::write_whole(
      path, std::string(RunFile::head_bytes, ' ') + line(1000 - number) + ",\n" + line(2000));
  const RunFile run{path, "a.json#" + std::to_string(number), 0,
                    {0},  "m-1#" + std::to_string(number),    {}};
  EXPECT_EQ(run.complete(), 0);
  return path;
}

// Whose events come in the order of their runs, which is that of the file that they are of.
TEST(MergeRuns, OfEventsOfOneTimeTheEarlierRunsComeFirst) {
  for (const int count : {16, 17, 40, 270}) {
    const trace::ScratchFolder folder;
    std::vector<std::string> paths;
    for (int i = 1; i <= count; ++i) {
      paths.push_back(write_run(folder / ("run" + std::to_string(i)), i));
    }
    paths = merge_runs(std::move(paths), folder / "merged", "a.json", "");
    EXPECT_LE(paths.size(), 16U);
    trace::MergeOptions options;
    options.mix_runs = true;
    EXPECT_EQ(trace::merge(paths, folder / "all", options).problem, "");
    const std::vector<std::string> events = trace::read_trace(folder / "all").events;
    ASSERT_EQ(events.size(), 2U * static_cast<unsigned>(count));
    for (int i = 1; i <= count; ++i) {
      const std::string& event = events[static_cast<std::size_t>(count + i - 1)];
      EXPECT_NE(event.find("\"e" + std::to_string(i) + "\""), event.npos) << count << ": " << event;
    }
  }
}

}  // namespace
}  // namespace traceagent::tools
