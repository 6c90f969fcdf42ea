#include "agent/process/file_list.hpp"

#include <gtest/gtest.h>

#include "agent/drain/run_index.hpp"
#include "agent/process/agent.hpp"
#include "agent/process/node_inputs.hpp"
#include "agent/trace/document.hpp"
#include "agent/trace/output_file.hpp"
#include "tests/unit/drain/crafted_ring.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::process {
namespace {

using Paths = std::vector<std::string>;

TEST(FileList, KnowsEachFileOnce) {
  FileList files;
  files.add("/a");
  files.add("/b");
  files.add("/a");
  EXPECT_EQ(files.paths(), (Paths{"/b", "/a"}));
  files.forget("/b");
  files.forget("/c");
  EXPECT_EQ(files.paths(), Paths{"/a"});
  EXPECT_EQ(files.count(), 1u);
  EXPECT_TRUE(files.is_whole());
}

// A job of weeks.
TEST(FileList, IsBounded) {
  FileList files;
  constexpr std::size_t made = 3 * FileList::most_paths;
  for (std::size_t i = 0; i < made; ++i) files.add("/" + std::to_string(i));
  EXPECT_EQ(files.paths().size(), FileList::most_paths);
  EXPECT_EQ(files.paths().back(), "/" + std::to_string(made - 1));
  EXPECT_EQ(files.count(), made);
  EXPECT_FALSE(files.is_whole());
}

void write_trace(const std::string& path, const std::string& run_key) {
  trace::OutputFile file;
  ASSERT_TRUE(file.open(path, {}));
  trace::DocumentHeader header;
  header.rank = 3;
  header.node_rank = 1;
  header.run_key = run_key;
  trace::write_header(file, header);
  trace::write_footer(file, "{}");
  ASSERT_TRUE(file.finish());
}

// What is left out of the list is merged all the same, though it lies in no one folder.
TEST(FileList, WhatItLeavesOutIsFoundByTheIndex) {
  const trace::ScratchFolder scratch;
  drain::CraftedRing crafted(scratch / "out");
  crafted.ring().header().identity.run_key = crafted.ring().add_name("slurm7");
  std::filesystem::create_directories(scratch / "out/epoch1");
  std::filesystem::create_directories(scratch / "elsewhere");
  const Paths own = {scratch / "out/first.json", scratch / "out/epoch1/second.json",
                     scratch / "elsewhere/third.json"};
  const std::string other = scratch / "out/epoch1/others.json", gone = scratch / "out/gone.json";
  for (const std::string& path : own) write_trace(path, "slurm7");
  write_trace(other, "slurm8");
  for (const std::string& path : {own[0], own[1], own[2], other, gone}) {
    drain::RankFileReport report;
    report.path = path;
    EXPECT_EQ(drain::index_saved(crafted.ring(), crafted.window(1500, 3000, 0, 1), report, false),
              "");
  }
  Agent agent;
  agent.ring.ring = crafted.ring();
  agent.options.output_folder = scratch / "out";
  agent.identity.run_key = "slurm7";
  agent.identity.node_rank = 1;
  NodeInputs inputs;
  add_files_of_folder(agent, inputs);
  EXPECT_EQ(std::set<std::string>(inputs.files.begin(), inputs.files.end()),
            std::set<std::string>(own.begin(), own.end()));
  EXPECT_EQ(inputs.files.size(), own.size()) << "each once";
  EXPECT_EQ(inputs.ranks, std::set<std::int64_t>{3});
}

}  // namespace
}  // namespace traceagent::process
