#include "agent/process/identity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/process/run_name.hpp"
#include "tests/unit/config/variables.hpp"

namespace traceagent::process {
namespace {

using Lines = std::vector<std::string>;

ProcessFacts process_facts(int pid, std::uint64_t start_ticks, Lines command,
                           Lines rank_variables = {}) {
  return {pid, start_ticks, std::move(command), true, std::move(rank_variables)};
}

// slurmstepd, sshd: we may not look into their environment.
ProcessFacts foreign_process(int pid, std::uint64_t start_ticks, Lines command) {
  return {pid, start_ticks, std::move(command), false, {}};
}

// Booted at 2026-11-20 00:00:00 UTC, 100 ticks a second.
ProcFacts facts_of(std::vector<ProcessFacts> chain) {
  return {"node7", 1795132800, 100, std::move(chain)};
}

Identity identity_of(const Lines& variables, const ProcFacts& facts,
                     const config::Options& options = {}) {
  return identify(options, config::Variables(variables).environment(), facts);
}

// rank/world local/local_world node source
std::string shown(const Identity& i) {
  return std::to_string(i.rank) + '/' + std::to_string(i.world_size) + ' ' +
         std::to_string(i.local_rank) + '/' + std::to_string(i.local_world_size) + " node " +
         std::to_string(i.node_rank) + ' ' + i.source;
}

const ProcFacts plain =
    facts_of({process_facts(500, 360000, {"./train"}), process_facts(400, 100, {"bash"}),
              process_facts(1, 1, {"init"})});

// --- a single process
// -----------------------------------------------------------------------------

TEST(Identity, ARankThatNothingTellsOfItsJobSaysSo) {
  const ProcFacts without_proc = facts_of({process_facts(500, 0, {})});
  const Lines by_hand = {"RANK=1", "WORLD_SIZE=2"};
  const Identity alone = identity_of(by_hand, without_proc);
  ASSERT_EQ(alone.problems.size(), 1U);
  EXPECT_NE(alone.problems[0].find("MASTER_PORT"), std::string::npos);
  EXPECT_EQ(alone.problems[0].find('\n'), std::string::npos);
  // As it says.
  Lines with_port = by_hand;
  with_port.insert(with_port.end(), {"MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500"});
  const Identity one = identity_of(with_port, without_proc);
  EXPECT_TRUE(one.problems.empty());
  EXPECT_EQ(one.run_key, identity_of(with_port, facts_of({process_facts(501, 0, {})})).run_key);
  EXPECT_TRUE(identity_of(by_hand, plain).problems.empty());
  EXPECT_TRUE(identity_of({}, without_proc).problems.empty()) << "nobody to find";
}

TEST(Identity, ASingleProcess) {
  const Identity i = identity_of({"PATH=/bin"}, plain);
  EXPECT_EQ(shown(i), "0/1 0/1 node 0 single process");
  EXPECT_EQ(i.run_name, "train-20261120-010000-500");
  EXPECT_EQ(i.run_key, "process-500.360000");
  EXPECT_EQ(i.host, "node7");
  EXPECT_EQ(i.pid, 500);
  EXPECT_EQ(i.attempt, "");
  EXPECT_TRUE(i.problems.empty());
}

TEST(Identity, ForkedAndSpawnedChildrenOfASingleProcessBelongToItsRun) {
  const ProcessFacts program = process_facts(500, 360000, {"python3", "train.py"});
  const ProcessFacts shell = process_facts(400, 100, {"bash"});
  const Identity parent = identity_of({}, facts_of({program, shell}));
  const Identity forked = identity_of(
      {}, facts_of({process_facts(501, 360100, {"python3", "train.py"}), program, shell}));
  const Identity spawned = identity_of(
      {}, facts_of({process_facts(502, 360200,
                                  {"python3", "-c",
                                   "from multiprocessing.spawn import spawn_main; spawn_main()",
                                   "--multiprocessing-fork"}),
                    program, shell}));
  const Identity served = identity_of(
      {}, facts_of({process_facts(504, 360300,
                                  {"python3", "-c", "from multiprocessing.forkserver import main"}),
                    process_facts(503, 360250,
                                  {"python3", "-c", "from multiprocessing.forkserver import main"}),
                    program, shell}));
  EXPECT_EQ(parent.run_name, "train-20261120-010000-500");
  for (const Identity& child : {forked, spawned, served}) {
    EXPECT_EQ(child.run_name, parent.run_name);
    EXPECT_EQ(child.run_key, parent.run_key);
  }
  EXPECT_EQ(spawned.pid, 502);
}

TEST(Identity, TwoRunsFromOneShellAreTwoRuns) {
  const ProcessFacts shell = process_facts(400, 100, {"bash"});
  const Identity one = identity_of({}, facts_of({process_facts(500, 360000, {"./train"}), shell}));
  const Identity two = identity_of({}, facts_of({process_facts(501, 360000, {"./train"}), shell}));
  EXPECT_NE(one.run_key, two.run_key);
  EXPECT_NE(one.run_name, two.run_name);
}

// --- torchrun
// -------------------------------------------------------------------------------------

Lines torchrun(int rank, int local_rank, int world, int local_world, int group) {
  return {"RANK=" + std::to_string(rank),
          "LOCAL_RANK=" + std::to_string(local_rank),
          "WORLD_SIZE=" + std::to_string(world),
          "LOCAL_WORLD_SIZE=" + std::to_string(local_world),
          "GROUP_RANK=" + std::to_string(group),
          "GROUP_WORLD_SIZE=" + std::to_string(world / local_world),
          "ROLE_RANK=" + std::to_string(rank),
          "ROLE_NAME=default",
          "MASTER_ADDR=gpu-a",
          "MASTER_PORT=29500",
          "TORCHELASTIC_RESTART_COUNT=0",
          "TORCHELASTIC_MAX_RESTARTS=3",
          "TORCHELASTIC_RUN_ID=none",
          "TORCHELASTIC_ERROR_FILE=/tmp/torchelastic_x/none_y/attempt_0/0/error.json"};
}

Lines with(Lines variables, const Lines& more) {
  variables.insert(variables.end(), more.begin(), more.end());
  return variables;
}

Lines replaced(Lines variables, const std::string& line) {
  const std::string name = line.substr(0, line.find('=') + 1);
  std::erase_if(variables, [&](const std::string& each) { return each.starts_with(name); });
  variables.push_back(line);
  return variables;
}

ProcFacts under_torchrun(int pid) {
  return facts_of({process_facts(pid, 370000, {"/usr/bin/python3", "-u", "train.py"}, {"RANK"}),
                   process_facts(700, 366000, {"python3", "/usr/bin/torchrun", "train.py"}),
                   process_facts(400, 100, {"bash"})});
}

TEST(Identity, TorchrunOnOneNode) {
  Identity first;
  for (int rank = 0; rank < 4; ++rank) {
    const Identity i = identity_of(torchrun(rank, rank, 4, 4, 0), under_torchrun(701 + rank));
    EXPECT_EQ(shown(i), std::to_string(rank) + "/4 " + std::to_string(rank) + "/4 node 0 torchrun");
    EXPECT_EQ(i.run_name, "train-20261120-010100-700");
    EXPECT_EQ(i.run_key, "gpu-a-29500-launcher-700.366000");
  }
}

TEST(Identity, TorchrunOnTwoNodes) {
  const ProcFacts node0 = under_torchrun(701);
  const ProcFacts node1 = facts_of({process_facts(9, 5, {"/usr/bin/python3", "-u", "train.py"}),
                                    process_facts(8, 4, {"torchrun"})});
  const Identity a = identity_of(torchrun(1, 1, 4, 2, 0), node0);
  const Identity b = identity_of(torchrun(2, 0, 4, 2, 1), node1);
  EXPECT_EQ(shown(a), "1/4 1/2 node 0 torchrun");
  EXPECT_EQ(shown(b), "2/4 0/2 node 1 torchrun");
  // Nothing of the node's own: the launchers differ.
  EXPECT_EQ(a.run_key, "gpu-a-29500");
  EXPECT_EQ(b.run_key, a.run_key);
  EXPECT_EQ(b.run_name, a.run_name);
  EXPECT_TRUE(a.run_name.starts_with("train-"));
  const Identity other_port =
      identity_of(replaced(torchrun(1, 1, 4, 2, 0), "MASTER_PORT=29501"), node0);
  EXPECT_NE(other_port.run_name, a.run_name);
  const Identity with_id =
      identity_of(replaced(torchrun(1, 1, 4, 2, 0), "TORCHELASTIC_RUN_ID=job 17"), node0);
  EXPECT_TRUE(with_id.run_key.starts_with("job_17-gpu-a-29500-")) << with_id.run_key;
}

TEST(Identity, AnElasticRestartIsANewAttempt) {
  const Lines restarted = replaced(torchrun(0, 0, 4, 4, 0), "TORCHELASTIC_RESTART_COUNT=2");
  const Identity i = identity_of(restarted, under_torchrun(701));
  EXPECT_EQ(i.attempt, "attempt2");
  EXPECT_EQ(i.run_name, "train-20261120-010100-700-attempt2");
  EXPECT_EQ(i.run_key, "gpu-a-29500-launcher-700.366000-attempt2");
  config::Options named;
  named.run_name = "my-run";
  EXPECT_EQ(identity_of(restarted, under_torchrun(701), named).run_name, "my-run-attempt2");
  EXPECT_EQ(identity_of(torchrun(0, 0, 4, 4, 0), under_torchrun(701), named).run_name, "my-run");
  const Identity requeued = identity_of(with(restarted, {"SLURM_RESTART_COUNT=1"}), plain);
  EXPECT_EQ(requeued.attempt, "requeue1-attempt2");
}

TEST(Identity, AShellPerRankDoesNotSplitTheRun) {
  const auto rank_in_shell = [](int rank) {
    return facts_of({process_facts(800 + rank, 370100, {"python3", "train.py"}, {"RANK"}),
                     process_facts(750 + rank, 370000 + static_cast<std::uint64_t>(rank),
                                   {"bash", "start.sh"}, {"RANK"}),
                     process_facts(700, 366000, {"torchrun", "--no-python", "start.sh"})});
  };
  const Identity a = identity_of(torchrun(0, 0, 2, 2, 0), rank_in_shell(0));
  const Identity b = identity_of(torchrun(1, 1, 2, 2, 0), rank_in_shell(1));
  EXPECT_EQ(a.run_key, "gpu-a-29500-launcher-700.366000");
  EXPECT_EQ(b.run_key, a.run_key);
  EXPECT_EQ(b.run_name, a.run_name);
}

TEST(Identity, TorchrunInABatchScriptIsNotTheScriptsTask) {
  // The script has the variables of a task 0 of 4, and torchrun passes them on to all its ranks.
  const Lines script = {"SLURM_JOB_ID=200505", "SLURM_PROCID=0", "SLURM_LOCALID=0",
                        "SLURM_NODEID=0",      "SLURM_NTASKS=4", "SLURM_TASKS_PER_NODE=4",
                        "SLURM_GTIDS=0",       "SLURM_NPROCS=4"};
  const auto under_script = [&](int rank) {
    return facts_of(
        {process_facts(701 + rank, 370000, {"python3", "train.py"}, {"RANK", "SLURM_PROCID"}),
         process_facts(700, 366000, {"torchrun", "train.py"}, {"SLURM_PROCID"}),
         process_facts(600, 365000, {"bash", "slurm_script"}, {"SLURM_PROCID"}),
         foreign_process(599, 364000, {"slurmstepd"})});
  };
  for (int rank = 0; rank < 4; ++rank) {
    const Identity i = identity_of(with(torchrun(rank, rank, 4, 4, 0), script), under_script(rank));
    EXPECT_EQ(shown(i), std::to_string(rank) + "/4 " + std::to_string(rank) + "/4 node 0 torchrun");
    EXPECT_EQ(i.run_key, "slurm200505-gpu-a-29500-launcher-700.366000");
  }
  // And what the script starts by itself is a single process.
  const Identity alone = identity_of(script, facts_of({process_facts(701, 370000, {"./train"})}));
  EXPECT_EQ(shown(alone), "0/1 0/1 node 0 single process");
}

TEST(Identity, TorchrunPerNodeUnderSrun) {
  const Lines slurm = {
      "SLURM_JOB_ID=77", "SLURM_STEP_ID=0", "SLURM_PROCID=1",         "SLURM_LOCALID=0",
      "SLURM_NODEID=1",  "SLURM_NTASKS=2",  "SLURM_STEP_NUM_TASKS=2", "SLURM_TASKS_PER_NODE=1(x2)",
      "SLURM_GTIDS=1"};
  for (int local = 0; local < 4; ++local) {
    const Identity i =
        identity_of(with(torchrun(4 + local, local, 8, 4, 1), slurm), under_torchrun(701));
    EXPECT_EQ(shown(i),
              std::to_string(4 + local) + "/8 " + std::to_string(local) + "/4 node 1 torchrun");
    EXPECT_EQ(i.run_key, "slurm77-gpu-a-29500");
  }
}

// Its environment does not show it: a title lies over it, or it was set within the process.
TEST(Identity, AWorkersParentThatHoldsTheRankIsNoLauncher) {
  const Lines variables = torchrun(1, 1, 2, 2, 0);
  ProcFacts facts =
      facts_of({process_facts(710, 366100, {"./worker"}, {"RANK"}),
                process_facts(701, 366010, {"a title"}), process_facts(700, 366000, {"torchrun"})});
  EXPECT_TRUE(identity_of(variables, facts).run_key.ends_with("-launcher-701.366010"));
  facts.chain[1].environment_known = false;
  facts.holds_rank = [](const ProcessFacts& process, std::int64_t rank) {
    return process.pid == 701 && rank == 1;
  };
  const Identity worker = identity_of(variables, facts);
  EXPECT_TRUE(worker.run_key.ends_with("-launcher-700.366000")) << worker.run_key;
  EXPECT_EQ(worker.launcher_pid, 700);
  const Identity other = identity_of(torchrun(0, 0, 2, 2, 0), facts);
  EXPECT_FALSE(other.run_key.ends_with("-launcher-700.366000")) << "it holds another's";
}

// A title of each rank's own, written after the process began.
TEST(Identity, ARunsNameIsThatOfTheProgramAndNotOfATitle) {
  ProcFacts facts = facts_of({process_facts(701, 366010, {"Worker_TP1"}, {"RANK"}),
                              process_facts(700, 366000, {"torchrun"})});
  facts.command_at_load = {"python3", "train.py"};
  EXPECT_EQ(program_name(facts), "train");
  facts.command_at_load = {"python3", "-c", "from multiprocessing.spawn import spawn_main"};
  facts.chain[0].command = facts.command_at_load;
  EXPECT_EQ(program_name(facts), "torchrun");
}

// DeepSpeed's, Azure's and the old launcher's ranks: what is not said must not be guessed
// differently.
TEST(Identity, RanksThatAreNotToldHowManyTheirNodeHas) {
  for (int rank = 0; rank < 4; ++rank) {
    Lines variables = {"RANK=" + std::to_string(rank), "LOCAL_RANK=" + std::to_string(rank % 2),
                       "WORLD_SIZE=4", "MASTER_ADDR=10.0.0.1", "MASTER_PORT=29500"};
    const Identity i = identity_of(variables, under_torchrun(701 + rank));
    EXPECT_EQ(i.run_key, "10.0.0.1-29500");
    EXPECT_EQ(i.node_rank, rank / 2 * 2) << "its first rank's";
    ASSERT_EQ(i.problems.size(), 1U);
    EXPECT_NE(i.problems[0].find("LOCAL_WORLD_SIZE"), std::string::npos);
    variables.insert(variables.end(), {"LOCAL_SIZE=2", "CROSS_RANK=" + std::to_string(rank / 2)});
    const Identity told = identity_of(variables, under_torchrun(701 + rank));
    EXPECT_EQ(shown(told), std::to_string(rank) + "/4 " + std::to_string(rank % 2) + "/2 node " +
                               std::to_string(rank / 2) + " torchrun");
    EXPECT_TRUE(told.problems.empty());
  }
}

// Lightning: rank zero is the program itself, which has set its variables since it began.
TEST(Identity, RanksThatRankZeroHasStarted) {
  const ProcessFacts shell = process_facts(400, 100, {"bash"});
  const ProcessFacts program = process_facts(500, 360000, {"python", "train.py"});
  const ProcessFacts other =
      process_facts(501, 360900, {"/bin/python", "/job/train.py"}, {"LOCAL_RANK"});
  const auto lines = [](int rank) {
    return Lines{"LOCAL_RANK=" + std::to_string(rank), "NODE_RANK=0", "WORLD_SIZE=2",
                 "MASTER_ADDR=127.0.0.1", "MASTER_PORT=41234"};
  };
  const Identity zero = identity_of(lines(0), facts_of({program, shell}));
  const Identity one = identity_of(lines(1), facts_of({other, program, shell}));
  EXPECT_EQ(shown(zero), "0/2 0/2 node 0 LOCAL_RANK");
  EXPECT_EQ(shown(one), "1/2 1/2 node 0 LOCAL_RANK");
  EXPECT_EQ(zero.run_key, one.run_key);
  EXPECT_EQ(zero.run_name, one.run_name);
  const Lines second_node = replaced(lines(1), "NODE_RANK=1");
  const Identity unknown = identity_of(second_node, facts_of({other, shell}));
  EXPECT_EQ(shown(unknown), "0/1 0/1 node 0 single process");
  ASSERT_EQ(unknown.problems.size(), 1U);
  EXPECT_EQ(shown(identity_of(with(second_node, {"LOCAL_WORLD_SIZE=2"}), facts_of({other, shell}))),
            "3/4 1/2 node 1 LOCAL_RANK");
  EXPECT_EQ(shown(identity_of({"LOCAL_RANK=0", "WORLD_SIZE=1"}, facts_of({program}))),
            "0/1 0/1 node 0 single process");
}

TEST(Identity, ProcessesOfContainersThatStartTogetherHaveNamesOfTheirOwn) {
  ProcFacts one = facts_of({process_facts(1, 366000, {"./train"})});
  one.pid_namespace = "pid:[4026532001]";
  ProcFacts other = one;
  other.host = "node8";
  EXPECT_NE(identity_of({}, one).run_name, identity_of({}, other).run_name);
  EXPECT_NE(identity_of({}, one).run_key, identity_of({}, other).run_key);
  EXPECT_TRUE(identity_of({}, one).run_name.starts_with("train-20261120-010100-1-"));
  const Lines two_ranks = torchrun(0, 0, 2, 2, 0);
  EXPECT_EQ(identity_of(two_ranks, one).run_key, identity_of(torchrun(1, 1, 2, 2, 0), one).run_key);
}

// --- RANK and WORLD_SIZE by hand
// ------------------------------------------------------------------

TEST(Identity, RankByHandOnOneMachine) {
  const Identity i = identity_of({"RANK=2", "WORLD_SIZE=4"}, plain);
  EXPECT_EQ(shown(i), "2/4 2/4 node 0 torchrun");
  EXPECT_EQ(i.run_key, "launcher-400.100");
  EXPECT_EQ(shown(identity_of({"RANK=2", "WORLD_SIZE=4", "MASTER_ADDR=127.0.0.1"}, plain)),
            "2/4 2/4 node 0 torchrun");
}

TEST(Identity, OneRankPerPod) {
  const Identity i =
      identity_of({"RANK=2", "WORLD_SIZE=4", "MASTER_ADDR=job-master-0", "MASTER_PORT=23456",
                   "PYTHONUNBUFFERED=0"},
                  facts_of({process_facts(1, 50, {"python", "/train.py"}, {"RANK"})}));
  EXPECT_EQ(shown(i), "2/4 0/1 node 2 torchrun");
  EXPECT_EQ(i.run_key, "job-master-0-23456");
}

TEST(Identity, ComposersLauncher) {
  const Identity i = identity_of({"RANK=5", "WORLD_SIZE=8", "LOCAL_RANK=1", "LOCAL_WORLD_SIZE=4",
                                  "NODE_RANK=1", "MASTER_ADDR=a", "MASTER_PORT=1"},
                                 plain);
  EXPECT_EQ(shown(i), "5/8 1/4 node 1 torchrun");
}

TEST(Identity, RanksInContainersOfTheirOwnDoNotUseTheirParents) {
  // Every container's first process is a rank: nobody above it is common to all.
  const Lines variables = torchrun(1, 1, 2, 2, 0);
  const Identity i =
      identity_of(variables, facts_of({process_facts(7, 60, {"python", "train.py"}, {"RANK"}),
                                       process_facts(1, 50, {"sh", "/entry.sh"}, {"RANK"})}));
  EXPECT_EQ(i.run_key, "gpu-a-29500");
}

TEST(Identity, ARankOutsideItsWorldWidensIt) {
  const Identity i =
      identity_of({"RANK=5", "WORLD_SIZE=4", "LOCAL_RANK=5", "LOCAL_WORLD_SIZE=4"}, plain);
  EXPECT_EQ(shown(i), "5/6 5/6 node 0 torchrun");
  EXPECT_EQ(i.problems, (Lines{"bad rank: rank 5 from torchrun: the world has 4 ranks only; going "
                               "on with a world of 6"}));
}

// --- Open MPI, as version 4.1 sets them
// -----------------------------------------------------------

Lines open_mpi(int rank, int local_rank, int world, int local_world) {
  return {"OMPI_COMM_WORLD_RANK=" + std::to_string(rank),
          "OMPI_COMM_WORLD_LOCAL_RANK=" + std::to_string(local_rank),
          "OMPI_COMM_WORLD_NODE_RANK=" + std::to_string(local_rank),
          "OMPI_COMM_WORLD_SIZE=" + std::to_string(world),
          "OMPI_COMM_WORLD_LOCAL_SIZE=" + std::to_string(local_world),
          "OMPI_UNIVERSE_SIZE=" + std::to_string(world),
          "OMPI_MCA_ess_base_jobid=208011265",
          "OMPI_MCA_orte_precondition_transports=c2592e6a26953c56-8b371a9be9ba6e4e",
          "PMIX_NAMESPACE=208011265",
          "PMIX_RANK=" + std::to_string(rank)};
}

ProcFacts under_mpirun(int pid) {
  return facts_of({process_facts(pid, 370000, {"./train"}, {"OMPI_COMM_WORLD_RANK"}),
                   process_facts(900, 366000, {"mpirun", "-n", "4", "./train"}),
                   process_facts(400, 100, {"bash"})});
}

TEST(Identity, OpenMpiOnOneNode) {
  for (int rank = 0; rank < 4; ++rank) {
    const Identity i = identity_of(open_mpi(rank, rank, 4, 4), under_mpirun(901 + rank));
    EXPECT_EQ(shown(i), std::to_string(rank) + "/4 " + std::to_string(rank) + "/4 node 0 Open MPI");
    EXPECT_EQ(i.run_name, "train-20261120-010100-900");
    EXPECT_TRUE(i.run_key.starts_with("208011265-")) << i.run_key;
    EXPECT_TRUE(i.run_key.ends_with("-launcher-900.366000")) << i.run_key;
  }
}

TEST(Identity, OpenMpiOnTwoNodes) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < 8; ++rank) {
    const int node = rank / 4;
    const Identity i = identity_of(
        open_mpi(rank, rank % 4, 8, 4),
        node == 0 ? under_mpirun(901)
                  : facts_of({process_facts(5, 3, {"./train"}), process_facts(4, 2, {"orted"})}));
    EXPECT_EQ(i.node_rank, node);
    keys.push_back(i.run_key + ' ' + i.run_name);
  }
  EXPECT_EQ(std::count(keys.begin(), keys.end(), keys[0]), 8);
  EXPECT_EQ(keys[0].find("launcher"), std::string::npos);
}

TEST(Identity, OnlyAStatedNodeIsSureToBeTheSameOnAllRanksOfIt) {
  // Dealt round to three nodes: the guesses of the last node's ranks differ.
  const Identity a = identity_of(open_mpi(2, 0, 6, 2), plain);
  const Identity b = identity_of(open_mpi(5, 1, 6, 2), plain);
  EXPECT_NE(a.node_rank, b.node_rank);
  EXPECT_EQ(a.stated_node_rank, 0);
  EXPECT_EQ(b.stated_node_rank, 0);
  EXPECT_EQ(identity_of(torchrun(3, 1, 4, 2, 1), plain).stated_node_rank, 1);
}

TEST(Identity, OpenMpiDealtRound) {
  // mpirun --map-by node on two nodes: rank r is on node r % 2.
  for (int rank = 0; rank < 8; ++rank) {
    EXPECT_EQ(identity_of(open_mpi(rank, rank / 2, 8, 4), plain).node_rank, rank % 2) << rank;
  }
}

// Whose first rank writes a node's file: no two of them have one number.
TEST(Identity, NodesHaveDifferentNumbersHoweverRanksAreDealt) {
  for (const int size : {2, 4, 8}) {
    for (const int nodes : {2, 3, 4, 5, 8, 16}) {
      std::set<std::int64_t> dealt;
      for (int node = 0; node < nodes; ++node) {
        dealt.insert(identity_of(open_mpi(node, 0, nodes * size, size), plain).node_rank);
        const int first = node * size;
        EXPECT_EQ(identity_of(open_mpi(first, 0, nodes * size, size), plain).node_rank, node);
      }
      EXPECT_EQ(dealt.size(), static_cast<std::size_t>(nodes)) << size << " on each of " << nodes;
    }
  }
}

TEST(Identity, OpenMpiWithUnevenNodes) {
  // 4 ranks on node 0 and 3 on node 1.
  EXPECT_EQ(identity_of(open_mpi(3, 3, 7, 4), plain).node_rank, 0);
  EXPECT_EQ(identity_of(open_mpi(4, 0, 7, 3), plain).node_rank, 1);
  EXPECT_EQ(identity_of(open_mpi(6, 2, 7, 3), plain).node_rank, 1);
  // 3 and 4: at least not the first node's number.
  EXPECT_EQ(identity_of(open_mpi(2, 2, 7, 3), plain).node_rank, 0);
  EXPECT_EQ(identity_of(open_mpi(3, 0, 7, 4), plain).node_rank, 1);
}

TEST(Identity, MpirunInABatchScript) {
  const Lines script = {"SLURM_JOB_ID=5", "SLURM_PROCID=0", "SLURM_LOCALID=0",
                        "SLURM_NODEID=0", "SLURM_NTASKS=2", "SLURM_TASKS_PER_NODE=2",
                        "SLURM_GTIDS=0"};
  const Identity a = identity_of(with(open_mpi(0, 0, 2, 2), script), under_mpirun(901));
  const Identity b = identity_of(with(open_mpi(1, 1, 2, 2), script), under_mpirun(902));
  EXPECT_EQ(shown(a), "0/2 0/2 node 0 Open MPI");
  EXPECT_EQ(shown(b), "1/2 1/2 node 0 Open MPI");
  EXPECT_TRUE(a.run_key.starts_with("slurm5-208011265-")) << a.run_key;
  EXPECT_EQ(b.run_key, a.run_key);
  EXPECT_EQ(b.run_name, a.run_name);
}

// --- MPICH and Intel MPI, as Hydra 4.0 sets them
// --------------------------------------------------

TEST(Identity, HydraOnOneNode) {
  const ProcFacts facts =
      facts_of({process_facts(1001, 370000, {"/opt/app/bin/train"}, {"PMI_RANK"}),
                process_facts(1000, 366000, {"/usr/bin/hydra_pmi_proxy", "--control-port"}),
                process_facts(999, 365000, {"mpiexec.hydra", "-n", "2"})});
  const Identity i = identity_of({"PMI_RANK=1", "PMI_SIZE=2", "PMI_FD=8", "MPI_LOCALRANKID=1",
                                  "MPI_LOCALNRANKS=2", "HYDI_CONTROL_FD=7"},
                                 facts);
  EXPECT_EQ(shown(i), "1/2 1/2 node 0 MPICH or Intel MPI");
  EXPECT_EQ(i.run_key, "launcher-1000.366000");
  EXPECT_EQ(i.run_name, "train-20261120-010100-1000");
}

TEST(Identity, HydraOnTwoNodes) {
  const Identity i =
      identity_of({"PMI_RANK=5", "PMI_SIZE=8", "MPI_LOCALRANKID=1", "MPI_LOCALNRANKS=4"}, plain);
  EXPECT_EQ(shown(i), "5/8 1/4 node 1 MPICH or Intel MPI");
}

TEST(Identity, Mvapich) {
  const Identity i = identity_of({"MV2_COMM_WORLD_RANK=3", "MV2_COMM_WORLD_SIZE=4",
                                  "MV2_COMM_WORLD_LOCAL_RANK=1", "MV2_COMM_WORLD_LOCAL_SIZE=2"},
                                 plain);
  EXPECT_EQ(shown(i), "3/4 1/2 node 1 MVAPICH");
}

// --- Slurm
// ----------------------------------------------------------------------------------------

Lines srun(int rank, int local_rank, int node, const std::string& tasks_per_node, int world) {
  return {"SLURM_JOB_ID=200505",
          "SLURM_STEP_ID=3",
          "SLURM_PROCID=" + std::to_string(rank),
          "SLURM_LOCALID=" + std::to_string(local_rank),
          "SLURM_NODEID=" + std::to_string(node),
          "SLURM_NTASKS=" + std::to_string(world),
          "SLURM_STEP_NUM_TASKS=" + std::to_string(world),
          "SLURM_TASKS_PER_NODE=" + tasks_per_node,
          "SLURM_STEP_TASKS_PER_NODE=" + tasks_per_node};
}

TEST(Identity, SrunOnUnevenNodes) {
  const ProcFacts facts = facts_of({process_facts(501, 370000, {"python3", "-m", "my.train"}),
                                    foreign_process(500, 366000, {"slurmstepd: [200505.3]"})});
  // Ranks 0-3 and 4-7 on the first nodes, 8-10 on the third.
  const Identity i = identity_of(srun(9, 1, 2, "4(x2),3", 11), facts);
  EXPECT_EQ(shown(i), "9/11 1/3 node 2 Slurm");
  EXPECT_EQ(i.run_key, "slurm200505.3");
  EXPECT_EQ(i.run_name, "my.train-slurm200505.3");
  const Identity first = identity_of(srun(0, 0, 0, "4(x2),3", 11), plain);
  EXPECT_EQ(shown(first), "0/11 0/4 node 0 Slurm");
  EXPECT_EQ(first.run_key, i.run_key);
}

TEST(Identity, SrunOnOneNodeNeedsNoLauncher) {
  // slurmstepd cannot be looked into; the step's number is enough.
  const Identity i = identity_of(srun(1, 1, 0, "2", 2), plain);
  EXPECT_EQ(shown(i), "1/2 1/2 node 0 Slurm");
  EXPECT_EQ(i.run_key, "slurm200505.3");
}

TEST(Identity, SrunWithPmi2FillsInSlurmsNumbers) {
  const Identity i = identity_of(
      with(srun(5, 1, 1, "4(x2)", 8), {"PMI_RANK=5", "PMI_SIZE=8", "PMI_FD=12"}), plain);
  EXPECT_EQ(shown(i), "5/8 1/4 node 1 MPICH or Intel MPI");
  EXPECT_EQ(i.run_key, "slurm200505.3");
}

TEST(Identity, RankExportedFromSlurm) {
  // srun bash -c 'RANK=$SLURM_PROCID WORLD_SIZE=$SLURM_NTASKS python train.py'
  const auto in_shell = [](int rank) {
    return facts_of(
        {process_facts(600 + rank, 370000, {"python3", "train.py"}, {"RANK", "SLURM_PROCID"}),
         process_facts(550 + rank, 369000, {"bash", "-c", "RANK=…"}, {"SLURM_PROCID"}),
         foreign_process(500, 366000, {"slurmstepd"})});
  };
  const Identity a =
      identity_of(with(srun(0, 0, 0, "2", 2), {"RANK=0", "WORLD_SIZE=2"}), in_shell(0));
  const Identity b =
      identity_of(with(srun(1, 1, 0, "2", 2), {"RANK=1", "WORLD_SIZE=2"}), in_shell(1));
  EXPECT_EQ(shown(a), "0/2 0/2 node 0 torchrun");
  EXPECT_EQ(shown(b), "1/2 1/2 node 0 torchrun");
  EXPECT_EQ(a.run_key, "slurm200505.3");
  EXPECT_EQ(b.run_key, a.run_key);
  EXPECT_EQ(b.run_name, a.run_name);
}

TEST(Identity, RunsFromOneInteractiveShellOfSrunAreRunsOfTheirOwn) {
  const ProcessFacts shell = process_facts(400, 100, {"bash"}, {"SLURM_PROCID"});
  const auto run = [&](int pid) {
    return identity_of(srun(0, 0, 0, "1", 1),
                       facts_of({process_facts(pid, 360000, {"./train"}, {"SLURM_PROCID"}), shell,
                                 foreign_process(300, 50, {"slurmstepd"})}));
  };
  EXPECT_EQ(shown(run(500)), "0/1 0/1 node 0 Slurm");
  EXPECT_EQ(run(500).run_name, "train-20261120-010000-500");
  EXPECT_NE(run(501).run_key, run(500).run_key);
}

TEST(Identity, SlurmsVariablesByHand) {
  const Identity a = identity_of({"SLURM_PROCID=0", "SLURM_LOCALID=0", "SLURM_NTASKS=2",
                                  "SLURM_NODEID=0", "SLURM_TASKS_PER_NODE=2"},
                                 plain);
  EXPECT_EQ(shown(a), "0/2 0/2 node 0 Slurm");
  EXPECT_EQ(a.run_key, "launcher-400.100");
  // Two nodes played on one machine, without a job number: the parent is all there is.
  const Identity b = identity_of({"SLURM_PROCID=3", "SLURM_LOCALID=1", "SLURM_NTASKS=4",
                                  "SLURM_NODEID=1", "SLURM_TASKS_PER_NODE=2(x2)"},
                                 plain);
  EXPECT_EQ(shown(b), "3/4 1/2 node 1 Slurm");
  EXPECT_EQ(b.run_key, "launcher-400.100");
}

// --- our own options
// ------------------------------------------------------------------------------

TEST(Identity, OptionsWin) {
  config::Options own;
  own.identity_rank = 6;
  own.identity_local_rank = 2;
  own.identity_world_size = 8;
  own.identity_local_world_size = 4;
  own.identity_node_rank = 1;
  EXPECT_EQ(shown(identity_of(torchrun(0, 0, 2, 2, 0), plain, own)), "6/8 2/4 node 1 options");
  config::Options only_node;
  only_node.identity_node_rank = 9;
  EXPECT_EQ(shown(identity_of(torchrun(1, 1, 2, 2, 0), plain, only_node)),
            "1/2 1/2 node 9 torchrun");
  config::Options only_rank;
  only_rank.identity_rank = 3;
  EXPECT_EQ(shown(identity_of({"TRACEAGENT_RANK=3"}, plain, only_rank)), "3/4 3/4 node 0 options");
}

// --- names
// ----------------------------------------------------------------------------------------

std::string name_of_program(Lines command) {
  const std::string name =
      identity_of({}, facts_of({process_facts(5, 100, std::move(command))})).run_name;
  return name.substr(0, name.find("-2026"));
}

TEST(Identity, TheProgramsName) {
  EXPECT_EQ(name_of_program({"/opt/app/bin/train"}), "train");
  EXPECT_EQ(name_of_program({"python", "train.py"}), "train");
  EXPECT_EQ(name_of_program({"/usr/bin/python3.11", "-u", "-OO", "/a/b/train.py", "--x"}), "train");
  EXPECT_EQ(name_of_program({"python3", "-W", "ignore", "-X", "dev", "fit.py"}), "fit");
  EXPECT_EQ(name_of_program({"python3", "-Wignore", "fit.py"}), "fit");
  EXPECT_EQ(name_of_program({"python3", "-m", "pkg.train", "--lr", "1"}), "pkg.train");
  EXPECT_EQ(name_of_program({"python3", "-um", "pkg.train"}), "pkg.train");
  EXPECT_EQ(name_of_program({"python3", "-mpkg.train"}), "pkg.train");
  EXPECT_EQ(name_of_program({"python3", "-c", "import x"}), "python3");
  EXPECT_EQ(name_of_program({"python3"}), "python3");
  EXPECT_EQ(name_of_program({"python3", "-"}), "python3");
  EXPECT_EQ(name_of_program({"python3", "--check-hash-based-pycs", "default"}), "default");
  EXPECT_EQ(name_of_program({"./my train.sh"}).substr(0, 12), "my_train.sh-");
  EXPECT_EQ(name_of_program({}), "program");
  EXPECT_EQ(name_of_program({"/"}), "program");
}

TEST(Identity, KeysAreSafeAsFileNames) {
  const Lines hostile = replaced(replaced(torchrun(1, 1, 4, 2, 0), "MASTER_ADDR=../../../etc"),
                                 "TORCHELASTIC_RUN_ID=" + std::string(5000, 'x') + "\n/");
  const Identity i = identity_of(hostile, plain);
  EXPECT_LE(i.run_key.size(), 96U);
  EXPECT_EQ(i.run_key.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789._-"),
            std::string::npos);
  EXPECT_NE(i.run_key[0], '.');
  // Different all the same after the cut.
  const Identity other = identity_of(replaced(hostile, "MASTER_PORT=1"), plain);
  EXPECT_NE(other.run_key, i.run_key);
}

TEST(Identity, TheRankBeganWithTheFirstProcessThatTheLauncherMadeOfIt) {
  const Lines variables = {"RANK=1", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2", "LOCAL_RANK=1"};
  const ProcessFacts torchrun = process_facts(10, 100, {"torchrun"});
  const ProcessFacts wrapper = process_facts(11, 200, {"start.sh"}, {"RANK"});
  const ProcessFacts program = process_facts(12, 300, {"python3", "train.py"}, {"RANK"});
  const ProcessFacts worker =
      process_facts(13, 400, {"python3", "-c", "--multiprocessing-fork"}, {"RANK"});
  const auto start_s = [&](std::vector<ProcessFacts> chain) {
    return static_cast<double>(identity_of(variables, facts_of(std::move(chain))).rank_start_ns) /
           1e9;
  };
  const double alone_s = start_s({program, torchrun});
  constexpr double between_calls_s = 0.4;
  EXPECT_NEAR(start_s({worker, program, torchrun}), alone_s, between_calls_s);
  EXPECT_NEAR(start_s({program, wrapper, torchrun}), alone_s - 1, between_calls_s);
  EXPECT_NEAR(start_s({worker, torchrun}), alone_s - 2, between_calls_s)
      << "it may have given itself the rank";
}

TEST(Identity, OfTheFamilyAreTheRanksProcessesAndItsLauncher) {
  const Lines variables = {"RANK=1", "WORLD_SIZE=2", "LOCAL_WORLD_SIZE=2", "LOCAL_RANK=1"};
  const Identity identity = identity_of(
      variables, facts_of({process_facts(13, 400, {"train"}, {"RANK"}),
                           process_facts(11, 200, {"start.sh"}, {"RANK"}),
                           process_facts(10, 100, {"torchrun"}), process_facts(1, 1, {"init"})}));
  std::vector<int> family;
  for (const Forebear& forebear : identity.family) family.push_back(forebear.pid);
  EXPECT_EQ(family, (std::vector<int>{13, 11, 10}));
  EXPECT_EQ(identity.launcher_pid, 10);
}

}  // namespace
}  // namespace traceagent::process
