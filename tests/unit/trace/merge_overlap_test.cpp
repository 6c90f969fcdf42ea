// Inputs that hold the same events: each event is taken once, from a file that is whole.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "agent/trace/cut_files.hpp"
#include "agent/trace/merge.hpp"
#include "agent/trace/merge_metadata.hpp"
#include "tests/unit/trace/sample_trace.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

constexpr std::int64_t base = 1700000000000000000;

TEST(Merge, merged_files_join_and_nothing_is_taken_twice) {
  ScratchFolder folder;
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    ranks.push_back(write_sample(folder / ("r" + std::to_string(rank) + ".json"),
                                 {.rank = rank, .base_ns = base + rank, .times_ns = {rank, 100}}));
  }
  const auto node0 = folder / "node0.json";
  const auto node1 = folder / "node1.json";
  const auto all = folder / "all.json";
  ASSERT_EQ(merge({ranks[0], ranks[1]}, node0).problem, "");
  ASSERT_EQ(merge({ranks[2], ranks[3]}, node1).problem, "");
  ASSERT_EQ(merge(ranks, all).events, 8U);
  const ReadTrace expected = read_trace(all);

  const auto same_as_all = [&](const std::vector<std::string>& inputs) {
    const MergeReport report = merge(inputs, folder / "again.json");
    EXPECT_EQ(report.problem, "");
    const ReadTrace again = read_trace(folder / "again.json");
    EXPECT_EQ(again.events, expected.events);
    EXPECT_EQ(again.metadata_events, expected.metadata_events);
    EXPECT_EQ(again.footer.metadata, expected.footer.metadata);
    EXPECT_EQ(again.header.sources, expected.header.sources);
    EXPECT_EQ(again.header.distributed_info, expected.header.distributed_info);
    return std::count_if(report.inputs.begin(), report.inputs.end(),
                         [](const MergedInput& input) { return !input.left_out.empty(); });
  };
  EXPECT_EQ(same_as_all({node0, node1}), 0);
  EXPECT_EQ(same_as_all({ranks[0], ranks[1], node1}), 0);
  EXPECT_EQ(same_as_all({node0, ranks[0], ranks[1], ranks[2], ranks[3]}), 1);
  EXPECT_EQ(same_as_all({node0, node1, ranks[0]}), 1);
  EXPECT_EQ(same_as_all({all, node0}), 1);
  EXPECT_EQ(same_as_all({ranks[0], ranks[0], ranks[1], ranks[2], ranks[3]}), 1);
  // The output itself among the inputs.
  ASSERT_EQ(merge({all, node0}, all).problem, "");
  EXPECT_EQ(read_trace(all).events, expected.events);
}

// Cut at `bytes` from its end, as a copy is that was broken off.
void cut(const std::string& path, std::size_t bytes) {
  const std::string whole = read_whole(path);
  write_whole(path, whole.substr(0, whole.size() - bytes));
}

const MergedInput& input_of(const MergeReport& report, const std::string& path) {
  return *std::find_if(report.inputs.begin(), report.inputs.end(),
                       [&](const MergedInput& input) { return input.path == path; });
}

TEST(Merge, a_cut_rank_file_gives_way_to_the_merged_file_that_holds_all_of_it) {
  for (const bool gzip : {false, true}) {
    ScratchFolder folder;
    const auto a = write_sample(folder / "a.json", {.times_ns = {1, 2, 3}, .gzip = gzip});
    const auto b = write_sample(folder / "b.json", {.rank = 1, .times_ns = {4, 5}, .gzip = gzip});
    const auto node = folder / "node.json";
    ASSERT_EQ(merge({a, b}, node, {.gzip = gzip}).problem, "");
    cut(a, gzip ? 40 : 200);
    const MergeReport report = merge({a, b, node}, folder / "m.json");
    EXPECT_EQ(report.problem, "");
    EXPECT_EQ(report.events, 5U) << gzip;
    EXPECT_TRUE(report.complete);
    EXPECT_EQ(input_of(report, a).left_out,
              "it is cut or damaged, and whole files that are given hold all of it");

    // What is cut itself, or was made of the cut file, replaces nothing: each event of all, once.
    const auto of_cut = folder / "of_cut.json";
    ASSERT_EQ(merge({a, b}, of_cut, {.gzip = gzip}).problem, "");
    cut(node, 20);
    const MergeReport rest = merge({a, b, node, of_cut}, folder / "m.json");
    EXPECT_EQ(rest.events, 5U);
    EXPECT_FALSE(rest.complete);
    EXPECT_EQ(input_of(rest, a).left_out, "");
    EXPECT_NE(input_of(rest, a).problem.find(": " + a), std::string::npos);
  }
}

TEST(Merge, of_files_that_are_cut_those_are_taken_that_are_whole) {
  ScratchFolder folder;
  std::vector<std::string> ranks, nodes;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    const std::string number = std::to_string(rank);
    ranks.push_back(write_sample(folder / ("r" + number + ".json"),
                                 {.rank = rank, .times_ns = {rank, 10, 20}}));
    nodes.push_back(folder / ("node" + number + ".json"));
    ASSERT_EQ(merge({ranks.back()}, nodes.back()).problem, "");
  }
  const auto all = folder / "all.json";
  ASSERT_EQ(merge(nodes, all).problem, "");
  cut(all, 200);
  EXPECT_EQ(merge({all, nodes[0], nodes[1]}, folder / "m.json").events, 6U);
  // What its writer had lost before is no matter.
  write_sample(ranks[0], {.times_ns = {0, 10, 20}, .complete = false});
  ASSERT_FALSE(merge({ranks[0]}, nodes[0]).complete);
  cut(ranks[0], 200);
  EXPECT_EQ(merge({ranks[0], nodes[0]}, folder / "m.json").events, 3U);
}

// The text with its first event damaged.
std::string damaged(std::string text) {
  text[text.find("{\"ts\":") + 1] = '#';
  return text;
}

// What the merged file has of it is less: they are joined.
TEST(Merge, a_whole_rank_file_beside_a_merge_of_its_cut_copy_adds_what_that_lacks) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1, 2}, .name = "/at/node/a.json"});
  const auto b = write_sample(folder / "b.json",
                              {.rank = 1, .times_ns = {3, 4, 5}, .name = "/at/node/b.json"});
  const std::string whole = read_whole(b);
  const auto merged = folder / "merged.json";
  for (const std::string& text : {whole.substr(0, whole.size() - 200), damaged(whole)}) {
    write_whole(b, text);
    ASSERT_FALSE(merge({a, b}, merged).complete);
    EXPECT_FALSE(merge({merged, a}, folder / "m.json").complete);
    write_whole(b, whole);
    const MergeReport report = merge({merged, b}, folder / "m.json");
    EXPECT_EQ(report.events, 5U);
    EXPECT_TRUE(report.complete);
    EXPECT_TRUE(report.dropped.empty());
    const ReadTrace joined = read_trace(folder / "m.json");
    const ReadTrace expected = (merge({a, b}, folder / "n.json"), read_trace(folder / "n.json"));
    EXPECT_EQ(joined.events, expected.events);
    const auto other = merge({merged, a}, folder / "m.json");
    EXPECT_EQ(input_of(other, a).left_out, "a merged file that is given holds it");
    EXPECT_EQ(input_of(other, a).problem, "");
    EXPECT_EQ(merge({merged, a, b}, folder / "m.json").events, 5U);
  }
}

// Nothing of it was ever put in.
TEST(Merge, what_was_no_trace_costs_a_merged_file_nothing) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1, 2}});
  const auto b = write_sample(folder / "b.json", {.rank = 1, .times_ns = {3}});
  const auto junk = folder / "junk.json", merged = folder / "merged.json";
  write_whole(junk, "no trace\n");
  ASSERT_FALSE(merge({a, b, junk}, merged).complete);
  const MergeReport report = merge({merged, a}, folder / "m.json");
  EXPECT_EQ(input_of(report, a).left_out, "a merged file that is given holds it");
  EXPECT_EQ(report.events, 3U);
}

TEST(Merge, a_cut_or_damaged_merged_file_replaces_no_rank_file) {
  ScratchFolder folder;
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(write_sample(folder / ("r" + std::to_string(rank) + ".json"),
                                 {.rank = rank, .times_ns = {rank, 100, 200}}));
  }
  const auto all = folder / "all.json", node = folder / "node.json";
  ASSERT_EQ(merge(ranks, all).problem, "");
  ASSERT_EQ(merge({ranks[0], ranks[1]}, node).problem, "");
  const std::string whole = read_whole(all);
  for (const std::string& text : {whole.substr(0, whole.rfind("{\"ts\":")), damaged(whole)}) {
    write_whole(all, text);
    // What the merged file has lost of the others is lost.
    const MergeReport report = merge({all, ranks[0], ranks[1]}, folder / "m.json");
    EXPECT_EQ(input_of(report, ranks[0]).left_out, "");
    EXPECT_FALSE(report.complete);
    EXPECT_EQ(report.events, text == damaged(whole) ? 9U : 8U);
    EXPECT_EQ(merge({all, node}, folder / "m.json").events, report.events);
  }
}

TEST(Merge, a_copy_of_a_rank_file_is_taken_once) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1, 2}});
  std::filesystem::create_directory(folder / "backup");
  const auto copy = folder / "backup/a.json";
  std::filesystem::copy_file(a, copy);
  const MergeReport report = merge({a, copy}, folder / "m.json");
  EXPECT_EQ(report.events, 2U);
  EXPECT_EQ(input_of(report, copy).left_out, "a copy of " + a + ", which is given too");
  cut(a, 20);
  EXPECT_EQ(merge({a, copy}, folder / "m.json").events, 2U);
  EXPECT_TRUE(merge({a, copy}, folder / "m.json").complete);
}

TEST(Merge, a_damaged_rank_file_gives_way_to_a_copy_that_is_not) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1, 2, 3}});
  const auto copy = folder / "b.json";
  std::filesystem::copy_file(a, copy);
  std::string text = read_whole(a);
  text[text.find("{\"ts\":") + 1] = '#';
  write_whole(a, text);
  const MergeReport report = merge({a, copy}, folder / "m.json");
  EXPECT_EQ(report.events, 3U);
  EXPECT_TRUE(report.complete);
  EXPECT_EQ(input_of(report, a).left_out,
            "it is cut or damaged, and whole files that are given hold all of it");
  // Of copies that are all damaged one is taken, and said to be.
  write_whole(copy, text);
  const MergeReport damaged = merge({a, copy}, folder / "m.json");
  EXPECT_EQ(damaged.events, 2U);
  EXPECT_EQ(damaged.dropped.at("not_json"), 1U);
}

TEST(Merge, a_file_damaged_in_its_middle_gives_way_to_whole_files_that_hold_all_of_it) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "a.json", {.times_ns = {1, 2, 3}});
  const auto b = write_sample(folder / "b.json", {.rank = 1, .times_ns = {4, 5}});
  const auto node = folder / "node.json";
  const auto all = folder / "all.json";
  ASSERT_EQ(merge({a, b}, node).problem, "");
  ASSERT_EQ(merge({node}, all).problem, "");
  const std::string whole = read_whole(a);
  const std::string whole_node = read_whole(node);
  // Its second event behind its third.
  const auto disordered = [](std::string text) {
    text[text.find("0.002") + 4] = '7';
    return text;
  };
  for (const std::string& text : {damaged(whole), disordered(whole)}) {
    write_whole(a, text);
    const MergeReport report = merge({a, b, node}, folder / "m.json");
    EXPECT_EQ(report.events, 5U);
    EXPECT_TRUE(report.complete);
    EXPECT_EQ(input_of(report, a).left_out,
              "it is cut or damaged, and whole files that are given hold all of it");
  }
  write_whole(a, whole);
  write_whole(all, damaged(read_whole(all)));
  EXPECT_EQ(merge({node, all}, folder / "m.json").events, 5U);
  write_whole(node, damaged(whole_node));
  EXPECT_EQ(merge({a, b, node}, folder / "m.json").events, 5U);
  // Where all are damaged one is taken, and said to be.
  write_whole(a, damaged(whole));
  const MergeReport rest = merge({a, b, node}, folder / "m.json");
  EXPECT_EQ(rest.events, 4U);
  EXPECT_NE(input_of(rest, a).problem, "");
}

// What others' array of events lacks behind its last one takes nothing from our own files.
TEST(Merge, a_file_is_made_of_whole_files_whatever_their_writers_had_lost) {
  const auto is_whole = [](const std::string& problem) {
    return is_made_of_whole_files(R"({"incomplete": [{"file": "f", "problem": ")" + problem +
                                  "\"}]}");
  };
  EXPECT_TRUE(is_whole(writer_lost_something));
  EXPECT_TRUE(is_whole(std::string(not_closed) + ": f: at byte 3: copy it again"));
  EXPECT_FALSE(is_whole("a trace that is cut off: f: at byte 3: what is whole is used"));
  // Nor does what was never put in.
  EXPECT_TRUE(is_made_of_whole_files(R"({"incomplete": [{"file": ")" + std::string(include_mark) +
                                     R"(*.json", "problem": "it took too long"}]})"));
}

TEST(Merge, overlapping_merged_files_are_refused) {
  ScratchFolder folder;
  std::vector<std::string> ranks;
  for (std::int64_t rank = 0; rank < 3; ++rank) {
    ranks.push_back(write_sample(folder / ("r" + std::to_string(rank) + ".json"),
                                 {.rank = rank, .times_ns = {rank}}));
  }
  ASSERT_EQ(merge({ranks[0], ranks[1]}, folder / "a.json").problem, "");
  ASSERT_EQ(merge({ranks[1], ranks[2]}, folder / "b.json").problem, "");
  const MergeReport report = merge({folder / "a.json", folder / "b.json"}, folder / "m.json");
  EXPECT_EQ(report.events, 2U);
  EXPECT_FALSE(report.complete);
  EXPECT_NE(report.inputs[1].problem.find("merged files overlap: "), std::string::npos);
}

TEST(Merge, two_processes_of_one_rank_stay_apart) {
  ScratchFolder folder;
  const auto a = write_sample(folder / "r0.json", {.times_ns = {1}});
  const auto b = write_sample(folder / "r0-pid77.json", {.times_ns = {1}, .pid = 1000000});
  const MergeReport report = merge({a, b}, folder / "m.json");
  EXPECT_EQ(report.ranks, (std::vector<std::int64_t>{0}));
  EXPECT_EQ(report.events, 2U);
  EXPECT_EQ(read_trace(folder / "m.json").metadata_events.size(), 4U);
}

TEST(Merge, files_of_different_runs_are_refused_unless_wanted) {
  ScratchFolder folder;
  const auto file = [&](const std::string& name, std::int64_t rank, const std::string& run,
                        std::int64_t node = 0) {
    return write_sample(folder / name,
                        {.rank = rank, .times_ns = {1}, .run_key = run, .node_rank = node});
  };
  const auto a = file("a.json", 0, "slurm1"), b = file("b.json", 1, "slurm1");
  const auto other = file("c.json", 0, "slurm2"), peer = file("d.json", 1, "slurm2");
  const auto keyless = file("e.json", 5, "");
  const auto next_node = file("f.json", 2, "launcher-7", 1);
  const auto same_rank_there = file("g.json", 1, "launcher-8", 2);
  const MergeReport joined = merge({a, b, keyless, next_node}, folder / "m.json");
  EXPECT_EQ(joined.problem, "");
  EXPECT_EQ(joined.joined_runs, "node 1 is of launcher-7; node 0 is of slurm1");
  EXPECT_NE(read_whole(folder / "m.json").find(R"("run_keys": ["launcher-7", "slurm1"])"),
            std::string::npos);
  const auto third = file("h.json", 3, "launcher-9", 2);
  EXPECT_EQ(merge({folder / "m.json", third}, folder / "o.json").joined_runs,
            "nodes 0, 1 are of launcher-7 and slurm1; node 2 is of launcher-9");
  EXPECT_EQ(merge({a, b, keyless}, folder / "p.json").joined_runs, "");
  for (const auto& paths : {std::vector{a, other}, {a, peer}, {a, b, next_node, same_rank_there}}) {
    const MergeReport report = merge(paths, folder / "n.json");
    EXPECT_TRUE(report.problem.starts_with("files of different runs: " + a + " is of slurm1, ") ||
                report.problem.starts_with("files of different runs: " + b + " is of slurm1, "))
        << report.problem;
    EXPECT_NE(report.problem.find("--mix-runs"), std::string::npos) << report.problem;
    EXPECT_EQ(read_whole(folder / "n.json"), "");
  }
  const MergeReport mixed = merge({a, other}, folder / "n.json", {.mix_runs = true});
  EXPECT_EQ(mixed.problem, "");
  EXPECT_EQ(mixed.events, 2U);
}

}  // namespace
}  // namespace traceagent::trace
