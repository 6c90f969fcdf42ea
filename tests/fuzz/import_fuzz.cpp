// Any bytes as other people's trace, imported and merged: no crash, no file elsewhere, problems in
// one line; no event is lost without a count; what is written is JSON.
#include <string>

#include "agent/trace/merge.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/json_check.hpp"
#include "tests/fuzz/scratch.hpp"
#include "tools/import/import.hpp"

namespace {
constexpr std::size_t most_files = 3;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace traceagent;
  static const fuzz::Scratch scratch;
  scratch.clear();
  fuzz::Input input(data, size);
  std::vector<std::string> files;
  // A form feed, which is in no trace, ends a file.
  while (!input.empty() && files.size() < most_files) {
    files.push_back(scratch.path("trace_" + std::to_string(files.size()) + ".json"));
    fuzz::write_file(files.back(), input.take_until('\f'));
  }
  const std::string output = scratch.path("node.json");
  {
    tools::ImportOptions options;
    options.folder = output.substr(0, output.rfind('/'));
    options.threads = 1;
    const tools::ImportedTraces imported(files, options);
    std::uint64_t events = 0;
    for (const tools::ImportedFile& file : imported.files()) {
      fuzz::expect_one_line(file.problem);
      events += file.is_trace ? file.events : 0;
    }
    const trace::MergeReport report = trace::merge(imported.paths(), output, {});
    fuzz::expect_one_line(report.problem);
    for (const trace::MergedInput& each : report.inputs) fuzz::expect_one_line(each.problem);
    if (report.problem.empty()) {
      if (report.events != events) fuzz::fail("events were lost between import and merge");
      fuzz::expect_json(output);
    }
  }
  scratch.check();
  return 0;
}
