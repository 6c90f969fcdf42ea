// Any bytes as the indexes of a run's nodes, joined, one of them added to, and joined again: no
// crash, no file beside them, what is joined is JSON, and what was added is in it.
#include <filesystem>
#include <string>
#include <vector>

#include "agent/trace/index_file.hpp"
#include "agent/trace/joined_index.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/fuzz/json_check.hpp"
#include "tests/fuzz/scratch.hpp"

namespace {

using namespace traceagent;

constexpr std::size_t most_nodes = 3;
const std::string head = R"({"run_key": "a run", "entries": [)";
const std::string entry = R"({"saved": "added.json", "rank": 7})";

// Of no index none is made.
void join(const fuzz::Scratch& scratch, const std::string& joined, bool is_any) {
  const std::string problem =
      trace::join_indexes(scratch.inside(), "index-node", head, joined, UINT64_MAX);
  fuzz::expect_one_line(problem);
  if (!problem.empty()) fuzz::fail(problem);
  if (is_any) fuzz::expect_json(joined);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::Scratch scratch;
  scratch.clear();
  fuzz::Input input(data, size);
  std::vector<std::string> nodes;
  // A form feed, which is in no index, ends a node's.
  while (!input.empty() && nodes.size() < most_nodes) {
    nodes.push_back(scratch.path("index-node" + std::to_string(nodes.size()) + ".json"));
    const std::string_view rest = input.take_until('\f');
    // Else little but the head would be tried.
    fuzz::write_file(nodes.back(),
                     rest.starts_with('\n') ? head + std::string(rest) : std::string(rest));
  }
  const std::string joined = scratch.path("index.json");
  join(scratch, joined, !nodes.empty());
  for (const std::string& node : nodes) {
    static_cast<void>(trace::is_other_index(node, head));
    fuzz::expect_one_line(trace::add_to_index(node, head, entry, false));
  }
  if (!nodes.empty()) fuzz::expect_one_line(trace::add_to_index(nodes[0], head, entry, true));
  join(scratch, joined, !nodes.empty());
  if (!nodes.empty() && !trace::index_holds(joined, entry))
    fuzz::fail("what was added is not there");
  const auto files = std::filesystem::directory_iterator(scratch.inside());
  const std::size_t wanted = nodes.empty() ? 0 : nodes.size() + 1;
  if (std::distance(files, {}) != static_cast<std::ptrdiff_t>(wanted))
    fuzz::fail("a file is left beside the indexes");
  scratch.check();
  return 0;
}
