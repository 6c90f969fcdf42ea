// Any files, merged: no crash, no file elsewhere, problems in one line; what is
// written is JSON.
#include <string>
#include <vector>

#include "agent/trace/merge.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/json_check.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {
constexpr std::size_t most_files = 4;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace traceagent;
  static const fuzz::Scratch scratch;
  scratch.clear();
  fuzz::Input input(data, size);
  std::vector<std::string> files;
  // A form feed, which is in no trace, ends a file.
  while (!input.empty() && files.size() < most_files) {
    files.push_back(scratch.path("rank" + std::to_string(files.size()) + ".json"));
    fuzz::write_file(files.back(), input.take_until('\f'));
  }
  const std::string output = scratch.path("node.json");
  trace::MergeOptions options;
  options.mix_runs = size % 2 == 0;
  const trace::MergeReport report = trace::merge(files, output, options);
  fuzz::expect_one_line(report.problem);
  for (const trace::MergedInput& each : report.inputs) {
    fuzz::expect_one_line(each.problem);
    fuzz::expect_one_line(each.left_out);
  }
  if (report.problem.empty()) fuzz::expect_json(output);
  scratch.check();
  return 0;
}
