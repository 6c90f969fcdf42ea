#include "agent/process/earlier_run.hpp"

#include <gtest/gtest.h>

namespace traceagent::process {
namespace {

constexpr std::int64_t second_ns = 1'000'000'000;
constexpr std::int64_t start_ns = 1000 * second_ns;

RunFile rank_file(std::int64_t rank, std::int64_t base_ns, std::int64_t modified_ns) {
  RunFile file;
  file.rank = rank;
  file.base_ns = base_ns;
  file.modified_ns = modified_ns;
  file.begins = {{rank, base_ns}};
  return file;
}

std::int64_t until_ns_with(const RunFile& file) {
  EarlierRun earlier(2, start_ns);
  earlier.look_at(file);
  return earlier.until_ns();
}

TEST(EarlierRun, ThereIsNoneInAnEmptyFolder) { EXPECT_EQ(EarlierRun(2, start_ns).until_ns(), 0); }

TEST(EarlierRun, AnotherRankMayHaveEndedInThisRunAlready) {
  EXPECT_EQ(until_ns_with(rank_file(1, 900 * second_ns, 950 * second_ns)), 0);
}

TEST(EarlierRun, AWorkerOfTheSameProgramIsOfThisRun) {
  EXPECT_EQ(until_ns_with(rank_file(2, start_ns + 1, start_ns + 2)), 0);
}

TEST(EarlierRun, ItsRanksLastFileWasWrittenBeforeThisRunsFilesBegin) {
  EXPECT_EQ(until_ns_with(rank_file(2, 990 * second_ns, 995 * second_ns)), 995 * second_ns);
}

TEST(EarlierRun, RanksOfThisRunMayHaveBegunAMinuteSooner) {
  EXPECT_EQ(until_ns_with(rank_file(2, second_ns, 5 * second_ns)), start_ns - 60 * second_ns);
}

TEST(EarlierRun, AFileServersClockMayBeAhead) {
  EXPECT_EQ(until_ns_with(rank_file(2, 990 * second_ns, start_ns + second_ns)), start_ns);
}

TEST(EarlierRun, ANodeFileTellsByWhatItWasMadeOf) {
  RunFile node = rank_file(0, 980 * second_ns, 999 * second_ns);
  node.is_merged = true;
  node.begins = {{0, 980 * second_ns}, {1, 982 * second_ns}};
  EXPECT_EQ(until_ns_with(node), 0) << "without this rank";
  node.begins = {{0, 980 * second_ns}, {2, 981 * second_ns}, {1, 982 * second_ns}};
  EXPECT_EQ(until_ns_with(node), 982 * second_ns + 1) << "it may have been made late";
}

}  // namespace
}  // namespace traceagent::process
