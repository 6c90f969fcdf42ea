#include "tools/import/foreign_ids.hpp"

#include <gtest/gtest.h>

#include <string>

#include "agent/trace/process_ids.hpp"
#include "tools/import/foreign_lanes.hpp"
#include "tools/import/rank_in_name.hpp"

namespace traceagent::tools {
namespace {

TEST(ForeignPids, TellTheRankAndStayTheSame) {
  ForeignPids pids;
  const std::int64_t host = pids.pid(3, ForeignKind::kineto, "4037").value();
  EXPECT_EQ(trace::rank_of_pid(host), 3);
  EXPECT_EQ(pids.pid(3, ForeignKind::kineto, "\"4037\""), host);
  EXPECT_NE(pids.pid(4, ForeignKind::kineto, "4037"), host);
  EXPECT_NE(pids.pid(3, ForeignKind::composer, "4037"), host);
  ForeignPids others;
  EXPECT_EQ(others.pid(3, ForeignKind::kineto, "4037"), host);
  std::set<std::int64_t> all;
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t pid = pids.pid(1, ForeignKind::chrome, std::to_string(i)).value();
    EXPECT_TRUE(all.insert(pid).second);
    EXPECT_LT(pid, std::int64_t{1} << 31);
  }
  EXPECT_FALSE(pids.pid(1, ForeignKind::chrome, "1000")) << "no number is left";
  EXPECT_TRUE(all.contains(pids.pid(1, ForeignKind::chrome, "999").value()));
  EXPECT_TRUE(pids.pid(2, ForeignKind::chrome, "1000"));
}

TEST(ForeignPids, OfWhatAMergedFileHasAreKept) {
  ForeignPids merged;
  const auto pid = [](ForeignPids& pids, const std::string& process) {
    return pids.pid(3, ForeignKind::kineto, process).value();
  };
  const std::int64_t host = pid(merged, "4037");
  std::int64_t other = 0;  // that would have had the same number
  do {
    ++other;
  } while (ForeignPids().pid(3, ForeignKind::kineto, std::to_string(other)) != host);
  const std::int64_t displaced = pid(merged, std::to_string(other));
  ForeignPids later;
  later.keep(displaced, "PyTorch/" + std::to_string(other));
  EXPECT_EQ(pid(later, std::to_string(other)), displaced);
  EXPECT_EQ(pid(later, "4037"), host);
  ForeignPids beside;
  beside.keep(host, "PyTorch/4037");
  EXPECT_NE(pid(beside, std::to_string(other)), host);
  EXPECT_EQ(pid(beside, "\"4037\""), host);
  // As another program writes the same name.
  const std::int64_t named = merged.pid(3, ForeignKind::chrome, "\"caf\u00e9\"").value();
  ForeignPids saved_again;
  saved_again.keep(named + trace::pids_of_claim, R"(Chrome/caf\u00e9)");
  EXPECT_EQ(saved_again.pid(3, ForeignKind::chrome, "\"caf\u00e9\""), named + trace::pids_of_claim);
  for (const std::int64_t none : {std::int64_t{-1}, std::int64_t{3}, ForeignPids::pid_of_rank(3),
                                  ForeignPids::pid_of_crowd(3), std::int64_t{1} << 62}) {
    beside.keep(none, "PyTorch/1");
    EXPECT_NE(pid(beside, "1"), none);
  }
}

TEST(ForeignPids, AFileWhosePidsAreRanksIsTheSameWhoeverIsReadFirst) {
  std::set<std::int64_t> found;
  for (const bool is_first : {true, false}) {
    ForeignPids pids;
    ForeignLanes merged({ForeignKind::composer, 0, true}, pids);
    const auto pid_of_rank_1 = [&] { return merged.process_of("1").pid; };
    if (is_first) found.insert(pid_of_rank_1());
    for (int i = 0; i < ForeignPids::claims; ++i) {
      const std::int64_t pid =
          pids.pid(1, ForeignKind::kineto, "\"p" + std::to_string(i) + "\"").value();
      EXPECT_FALSE(found.contains(pid));
    }
    found.insert(pid_of_rank_1());
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(trace::rank_of_pid(*found.begin()), 1);
  EXPECT_LT(trace::trace_pid(trace::pids_of_claim - 1, ForeignPids::claim_of_crowd),
            std::int64_t{1} << 31);
}

TEST(ForeignIds, AreOneForWhatIsWrittenInManyWays) {
  EXPECT_EQ(foreign_id(2, "7"), foreign_id(2, "\"7\""));
  EXPECT_EQ(foreign_id(2, "7"), foreign_id(2, "\"0x7\""));
  EXPECT_NE(foreign_id(2, "7"), foreign_id(3, "7"));
  EXPECT_NE(foreign_id(2, "\"a\""), foreign_id(2, "\"b\""));
  for (const char* id :
       {"7", "18446744073709551615", "-1", "\"0xffffffffffffffff\"", "\"x\"", "1.5"}) {
    EXPECT_LT(foreign_id(131071, id), std::uint64_t{1} << 53) << id;
    EXPECT_LT(foreign_id(999'999, id), std::uint64_t{1} << 53) << id;
  }
  EXPECT_NE(foreign_id(131072, "7"), foreign_id(0, "7"));
}

TEST(ForeignIds, AreWholeHoweverTheNumberIsWritten) {
  for (const char* one : {"1", "1.0", "1.000", "\"1\""}) {
    std::int64_t number = 0;
    EXPECT_TRUE(whole_number(one, number)) << one;
    EXPECT_EQ(number, 1) << one;
    EXPECT_EQ(foreign_id(2, one), foreign_id(2, "1")) << one;
  }
  for (const char* none : {"1.5", "1.", "\"1.0\"", "", "\"\"", "1.0.0"}) {
    std::int64_t number = 0;
    EXPECT_FALSE(whole_number(none, number)) << none;
  }
}

TEST(ForeignIds, LargeOnesAreTheirOwn) {
  std::vector<std::uint64_t> all;
  for (std::int64_t rank = 0; rank < 2; ++rank) {
    for (std::uint64_t i = 0; i < 300'000; ++i) {
      all.push_back(foreign_id(rank, std::to_string(0x7f00'0000'0000u + i * 64)));
    }
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::adjacent_find(all.begin(), all.end()), all.end());
}

TEST(RankInName, IsANumberAtTheRightPlace) {
  EXPECT_EQ(rank_in_name("/a/rank9/ep0-ba4-rank12.json"), 12);
  EXPECT_EQ(rank_in_name("Rank_3.json.gz"), 3);
  EXPECT_EQ(rank_in_name("worker5.1680000000.pt.trace.json"), 5);
  EXPECT_EQ(rank_in_name("17.json"), 17);
  EXPECT_EQ(rank_in_name("trace-0.json.gz"), 0);
  EXPECT_EQ(rank_in_name("trace_r12.json"), 12);
  EXPECT_EQ(rank_in_name("rank3_step_100.json"), 3);
  EXPECT_EQ(rank_in_name("step100-rank3.json"), 3);
  for (const char* name : {"host_4037.1711964646000.pt.trace.json", "v100_2021.json",
                           "ranking.json", "trace.json", "a3.json", "/rank3/a/trace.json"}) {
    EXPECT_FALSE(rank_in_name(name)) << name;
  }
}

TEST(RankInName, IsNotPartOfAnotherWord) {
  for (const char* name : {"coworker1.json", "frank2.json", "frank2/trace.json", "shard3.json"}) {
    EXPECT_FALSE(rank_in_name(name)) << name;
  }
  for (const char* name : {"traceRank3.json", "MPIRank3.json", "globalrank3.json",
                           "localRank3.json", "trace_rank3.json", "GlobalRank3LocalRank0.json"}) {
    EXPECT_EQ(rank_in_name(name), 3) << name;
  }
}

// PyTorch's own names begin with the host's, which may end in anything.
TEST(RankInName, IsNotTheHosts) {
  for (const char* host :
       {"r1n1_100", "job-worker-0_100", "gpu-worker12_77", "node-rank3_77", "trainer-worker_17"}) {
    EXPECT_FALSE(rank_in_name(std::string(host) + ".1700000000000.pt.trace.json")) << host;
    EXPECT_EQ(rank_in_name("rank7/" + std::string(host) + ".1700000000000.pt.trace.json.gz"), 7);
  }
  // But a worker's, which the program has given.
  for (const char* worker :
       {"rank_3", "worker_3", "Rank3_77", "hosta_rank3", "hosta_rank3_77", "hosta_rank_3", "r_3"}) {
    EXPECT_EQ(rank_in_name(std::string(worker) + ".1700000000000.pt.trace.json"), 3) << worker;
  }
}

TEST(RankInName, ANumberAloneSaysLessThanAWord) {
  for (const char* name : {"trace_4.json", "bs_64.json", "17.json"}) {
    EXPECT_TRUE(rank_in_name(name)) << name;
    EXPECT_FALSE(rank_said_in_name(name)) << name;
  }
  EXPECT_EQ(rank_said_in_name("trace_rank4.json"), 4);
  EXPECT_EQ(rank_said_in_name("rank4/trace_3.json"), 4);
}

TEST(RankInName, IsThatOfTheJobBeforeThatOfTheNode) {
  for (const char* name :
       {"trace_rank5_local_rank1.json", "local_rank1_rank5.json", "rank5_local-rank-1.json",
        "rank5.localrank1.json", "rank_5_node_rank_1.json", "rank5-node-rank1.json",
        "rank5_group_rank1.json", "global_rank5_local_rank1.json", "node1_rank5.json",
        "worker5_local_rank1.json", "trace_r5_local_rank1.json"}) {
    EXPECT_EQ(rank_in_name(name), 5) << name;
  }
  EXPECT_EQ(rank_in_name("local_rank1.json"), 1);
  EXPECT_EQ(rank_in_name("node_rank1.json"), 1);
}

TEST(RankInName, IsThatOfTheFolderWhereTheFileSaysNone) {
  EXPECT_EQ(rank_in_name("run/rank10/trace.json"), 10);
  EXPECT_EQ(rank_in_name("/run/Rank_2/host_4037.1711964646000.pt.trace.json"), 2);
  EXPECT_EQ(rank_in_name("rank3/step_100.json.gz"), 3);
  EXPECT_EQ(rank_in_name("rank3/trace_0.json"), 3);
  EXPECT_EQ(rank_in_name("rank3/local_rank1.json"), 3);
  EXPECT_EQ(rank_in_name("rank3/rank4.json"), 4);
  for (const char* name : {"node0/local_rank3/trace.json", "worker3/trace.json", "run_3/trace.json",
                           "r3/trace.json", "/trace.json", "ranks/trace.json"}) {
    EXPECT_FALSE(rank_in_name(name)) << name;
  }
}

TEST(RankInName, IsNotWhatCountsSomethingElse) {
  for (const char* name : {"trace_step_100.json",
                           "trace_steps-2.json",
                           "TrainStep_3.pt.trace.json.gz",
                           "epoch_1.json",
                           "ep-2.json",
                           "batch_3.json",
                           "cycle-4.json.gz",
                           "iter_5.json",
                           "iteration_6.json",
                           "window_7.json",
                           "pid_17.json",
                           "2026-11-22.json",
                           "step_100_200.json",
                           "host_12345_3.json",
                           "ep0-ba4.json",
                           "gpur.json",
                           "rank_1700000000.json",
                           "node-1.json",
                           "node_0.json.gz",
                           "gpunode-2.json",
                           "host-3.json",
                           "nodes_2.json"}) {
    EXPECT_FALSE(rank_in_name(name)) << name;
  }
}

}  // namespace
}  // namespace traceagent::tools
