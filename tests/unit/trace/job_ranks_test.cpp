#include "agent/trace/job_ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace traceagent::trace {
namespace {

using Ranks = std::vector<std::int64_t>;

struct Said {
  int rank, local_rank, node_rank, local_world_size, world_size;
  const char* host = "a";
  const char* source = "Open MPI; its node's number is a guess";
};

std::string metadata_of(const Said& said) {
  return R"({"identity": {"rank": )" + std::to_string(said.rank) + R"(, "local_rank": )" +
         std::to_string(said.local_rank) + R"(, "world_size": )" + std::to_string(said.world_size) +
         R"(, "local_world_size": )" + std::to_string(said.local_world_size) +
         R"(, "node_rank": )" + std::to_string(said.node_rank) + R"(, "host": ")" + said.host +
         R"(", "source": ")" + said.source + "\"}}";
}

JobRanks job_of(const std::vector<Said>& all) {
  JobRanks job;
  for (const Said& said : all) job.add_metadata(metadata_of(said));
  return job;
}

TEST(JobRanks, of_one_node_are_all_of_the_job) {
  JobRanks job = job_of({{0, 0, 0, 4, 4}, {2, 2, 0, 4, 4}});
  EXPECT_EQ(job.missing(), (Ranks{1, 3}));
  EXPECT_FALSE(job.is_of_one_node());
  job.add_rank(1);  // of a file that says no more
  EXPECT_EQ(job.missing(), (Ranks{3}));
  job.add_metadata(metadata_of({3, 3, 0, 4, 4}));
  EXPECT_EQ(job.missing(), Ranks());
  EXPECT_EQ(job.absent(), Ranks());
}

TEST(JobRanks, of_one_node_of_several_are_that_nodes) {
  JobRanks job = job_of({{4, 0, 1, 4, 8}, {5, 1, 1, 4, 8}, {7, 3, 1, 4, 8}});
  EXPECT_TRUE(job.is_of_one_node());
  EXPECT_EQ(job.missing(), Ranks());
  EXPECT_EQ(job.missing_of_node_in_words(), "local rank 2 of node 1's 4");
  job.add_rank(6);
  EXPECT_EQ(job.missing_of_node_in_words(), "");
  EXPECT_EQ(job.absent(), (Ranks{0, 1, 2, 3}));
}

// mpirun --map-by node, of three nodes: each rank takes another number for its node's.
TEST(JobRanks, that_are_dealt_round) {
  const std::vector<Said> whole = {{0, 0, 0, 2, 6}, {3, 1, 1, 2, 6}};
  EXPECT_TRUE(job_of(whole).is_of_one_node());
  EXPECT_EQ(job_of(whole).missing_of_node_in_words(), "");
  EXPECT_EQ(job_of({whole[1]}).missing_of_node_in_words(), "local rank 0 of node 1's 2");
}

TEST(JobRanks, of_slots_that_differ) {
  const JobRanks job = job_of({{3, 0, 1, 2, 7}, {4, 1, 2, 2, 7}});
  EXPECT_TRUE(job.is_of_one_node());
  EXPECT_EQ(job.missing_of_node_in_words(), "");
}

TEST(JobRanks, of_a_file_that_is_cut_has_no_local_rank) {
  JobRanks job = job_of({{4, 0, 1, 4, 8}});
  job.add_rank(6);
  EXPECT_EQ(job.missing_of_node_in_words(), "2 of node 1's 4 ranks");
}

TEST(JobRanks, of_several_nodes_are_all_of_the_job) {
  EXPECT_EQ(job_of({{0, 0, 0, 2, 6}, {1, 1, 0, 2, 6}, {4, 0, 2, 2, 6, "b"}}).missing(),
            (Ranks{2, 3, 5}));
  const JobRanks one_host = job_of({{0, 0, 0, 2, 6}, {1, 1, 0, 2, 6}, {4, 0, 2, 2, 6}});
  EXPECT_EQ(one_host.missing(), (Ranks{2, 3, 5})) << "containers may have one name";
}

// Hosts of containers have names of their own, and two agents of torchrun may share a host.
TEST(JobRanks, whose_node_a_launcher_tells) {
  JobRanks node = job_of({{2, 0, 1, 2, 4, "b", "torchrun"}, {3, 1, 1, 2, 4, "c", "torchrun"}});
  EXPECT_TRUE(node.is_of_one_node());
  EXPECT_EQ(node.missing_of_node_in_words(), "");
  const JobRanks two = job_of({{0, 0, 0, 2, 4, "a", "torchrun"}, {3, 1, 1, 2, 4, "a", "torchrun"}});
  EXPECT_EQ(two.missing(), (Ranks{1, 2}));
  node.add(two);
  EXPECT_EQ(node.missing(), (Ranks{1}));
}

TEST(JobRanks, of_a_size_that_one_guesses) {
  const JobRanks job =
      job_of({{0, 0, 0, 1, 4, "a", "environment; how many ranks its node has is a guess"}});
  EXPECT_FALSE(job.is_node_size_known());
  EXPECT_EQ(job.absent(), (Ranks{1, 2, 3}));
}

// A cut file's header tells its node.
TEST(JobRanks, of_a_cut_file_of_another_node) {
  JobRanks job = job_of({{0, 0, 0, 2, 4, "a", "torchrun"}});
  job.add_cut(R"({"rank": 2, "world_size": 4, "node_rank": 1, "host": "b"})");
  EXPECT_EQ(job.missing(), (Ranks{1, 3}));
}

TEST(JobRanks, of_one_node_by_those_who_know) {
  JobRanks job = job_of({{0, 0, 0, 2, 6, "b"}, {1, 0, 0, 2, 6, "c"}});
  EXPECT_EQ(job.missing(), (Ranks{2, 3, 4, 5}));
  job.take_for_one_nodes();
  EXPECT_EQ(job.missing(), Ranks());
  EXPECT_EQ(job.missing_of_node_in_words(), "");
}

// Where nobody tells how many ranks a node has, each takes it to have those up to itself.
TEST(JobRanks, of_a_node_whose_number_of_ranks_is_a_guess) {
  const JobRanks job = job_of({{0, 0, 0, 1, 4}, {2, 2, 0, 3, 4}});
  EXPECT_EQ(job.missing(), Ranks());
  EXPECT_EQ(job.missing_of_node_in_words(), "local rank 1 of node 0");
  EXPECT_FALSE(job.is_node_size_known());
  EXPECT_EQ(job.absent(), (Ranks{1, 3}));
}

TEST(JobRanks, whose_files_say_nothing_or_what_cannot_be) {
  JobRanks job;
  job.add_metadata(R"({"rank": 3})");
  job.add_metadata(R"({"identity": {"rank": 5}})");
  job.add_metadata(R"({"imported": {"file": "x"}, "rank": 6})");
  job.add_metadata("{}");
  job.add_metadata(metadata_of({9, 0, 0, 4, 4}));
  EXPECT_EQ(job.world_size(), 0);
  EXPECT_EQ(job.missing(), Ranks());
  const auto huge = [](const char* rank, const char* local_rank, const char* size) {
    return std::string(R"({"identity": {"rank": )") + rank + R"(, "local_rank": )" + local_rank +
           R"(, "node_rank": 0, "world_size": 4294967295, "local_world_size": )" + size + "}}";
  };
  job.add_metadata(huge("0", "0", "4294967295"));
  EXPECT_EQ(job.missing().size(), JobRanks::most_named + 1);
  EXPECT_TRUE(ranks_in_words(job.missing()).ends_with("-4100, and more"))
      << ranks_in_words(job.missing());
  JobRanks node;
  node.add_metadata(huge("0", "4294967290", "4294967294"));
  node.add_metadata(huge("4294967293", "4294967293", "4294967294"));
  EXPECT_TRUE(node.missing_of_node_in_words().starts_with("local ranks 0-4096, and more of node"))
      << node.missing_of_node_in_words();
}

TEST(JobRanks, processes_in_words) {
  EXPECT_EQ(process_in_words(2, true), "rank 2");
  EXPECT_EQ(process_in_words(2, false), "a worker of rank 2");
  EXPECT_EQ(rank_in_words("rank 12"), 12);
  for (const char* other : {"a worker of rank 2", "rank x", "rank ", "3 workers"}) {
    EXPECT_EQ(rank_in_words(other), std::nullopt) << other;
  }
}

TEST(JobRanks, in_words) {
  EXPECT_EQ(ranks_in_words({2}), "rank 2");
  EXPECT_EQ(ranks_in_words({0, 1, 2, 7, 9, 10}), "ranks 0-2, 7, 9-10");
}

}  // namespace
}  // namespace traceagent::trace
