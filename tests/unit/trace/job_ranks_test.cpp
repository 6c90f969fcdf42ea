#include "agent/trace/job_ranks.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace traceagent::trace {
namespace {

using Ranks = std::vector<std::int64_t>;

struct Said {
  int rank, local_rank, node_rank, local_world_size, world_size;
};

std::string metadata_of(const Said& said) {
  return R"({"identity": {"rank": )" + std::to_string(said.rank) + R"(, "local_rank": )" +
         std::to_string(said.local_rank) + R"(, "world_size": )" + std::to_string(said.world_size) +
         R"(, "local_world_size": )" + std::to_string(said.local_world_size) +
         R"(, "node_rank": )" + std::to_string(said.node_rank) + "}}";
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
  EXPECT_EQ(job.missing(), (Ranks{6}));
  EXPECT_EQ(job.missing_unnamed(), 0);
  job.add_rank(6);
  EXPECT_EQ(job.missing(), Ranks());
  EXPECT_EQ(job.absent(), (Ranks{0, 1, 2, 3}));
}

// mpirun --map-by node
TEST(JobRanks, that_are_dealt_round) {
  const JobRanks whole = job_of({{1, 0, 1, 2, 4}, {3, 1, 1, 2, 4}});
  EXPECT_EQ(whole.missing(), Ranks());
  EXPECT_EQ(whole.missing_unnamed(), 0);
  EXPECT_EQ(job_of({{0, 0, 0, 3, 6}, {4, 2, 0, 3, 6}}).missing(), (Ranks{2}));
}

TEST(JobRanks, of_which_the_numbers_are_not_known) {
  const JobRanks one = job_of({{0, 0, 0, 2, 4}});
  EXPECT_EQ(one.missing(), Ranks());
  EXPECT_EQ(one.missing_unnamed(), 1);
  // As no launcher deals them.
  const JobRanks odd = job_of({{0, 0, 0, 4, 8}, {1, 1, 0, 4, 8}, {5, 2, 0, 4, 8}});
  EXPECT_EQ(odd.missing(), Ranks());
  EXPECT_EQ(odd.missing_unnamed(), 1);
}

TEST(JobRanks, of_several_nodes_are_all_of_the_job) {
  EXPECT_EQ(job_of({{0, 0, 0, 2, 6}, {1, 1, 0, 2, 6}, {4, 0, 2, 2, 6}}).missing(),
            (Ranks{2, 3, 5}));
}

// Where nobody tells how many ranks a node has, each takes it to have those up to itself.
TEST(JobRanks, of_a_node_whose_number_of_ranks_is_a_guess) {
  const JobRanks job = job_of({{0, 0, 0, 1, 4}, {1, 1, 0, 2, 4}});
  EXPECT_EQ(job.missing(), Ranks());
  EXPECT_EQ(job.missing_unnamed(), 0);
  EXPECT_EQ(job.absent(), (Ranks{2, 3}));
}

TEST(JobRanks, whose_files_say_nothing_or_what_cannot_be) {
  JobRanks job;
  job.add_metadata(R"({"rank": 3})");
  job.add_metadata(R"({"identity": {"rank": 5}})");
  job.add_metadata("{}");
  job.add_metadata(metadata_of({9, 0, 0, 4, 4}));
  EXPECT_EQ(job.world_size(), 0);
  EXPECT_EQ(job.missing(), Ranks());
  EXPECT_EQ(job.ranks(), (std::set<std::int64_t>{3, 5, 9}));
  const std::string huge =
      R"({"identity": {"rank": 0, "local_rank": 0, "node_rank": 0, "world_size": 4000000000, )"
      R"("local_world_size": 4000000000}})";
  job.add_metadata(huge);
  EXPECT_EQ(job.missing().size(), JobRanks::most_named + 1);
  EXPECT_TRUE(ranks_in_words(job.missing()).ends_with("-4100, and more"))
      << ranks_in_words(job.missing());
}

TEST(JobRanks, in_words) {
  EXPECT_EQ(ranks_in_words({2}), "rank 2");
  EXPECT_EQ(ranks_in_words({0, 1, 2, 7, 9, 10}), "ranks 0-2, 7, 9-10");
}

}  // namespace
}  // namespace traceagent::trace
