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

TEST(EarlierRun, AnotherWorldIsAnotherRun) {
  RunFile file = rank_file(1, 900 * second_ns, 995 * second_ns);
  file.world_size = 4;
  EarlierRun same(2, start_ns, 4), grown(2, start_ns, 8), unknown(2, start_ns);
  for (EarlierRun* earlier : {&same, &grown, &unknown}) earlier->look_at(file);
  EXPECT_EQ(same.until_ns(), 0) << "this rank may be late";
  EXPECT_EQ(grown.until_ns(), 995 * second_ns);
  EXPECT_EQ(unknown.until_ns(), 0);
}

TEST(EarlierRun, WhoComesLaterFindsItsOwnRankInTheNote) {
  EarlierRun first(3, start_ns);
  first.look_at(rank_file(0, 900 * second_ns, 995 * second_ns));
  first.look_at(rank_file(0, 800 * second_ns, 810 * second_ns));
  first.look_at(rank_file(1, 901 * second_ns, 996 * second_ns));
  first.look_at(rank_file(2, start_ns + 1, start_ns + 2));
  EXPECT_EQ(first.until_ns(), 0);
  const auto until_ns_of = [&](std::int64_t rank, std::int64_t rank_start_ns) {
    EarlierRun later(rank, rank_start_ns);
    later.read(first.in_note());
    return later.until_ns();
  };
  EXPECT_EQ(until_ns_of(0, start_ns + second_ns), 995 * second_ns);
  EXPECT_EQ(until_ns_of(1, start_ns - second_ns), 996 * second_ns);
  EXPECT_EQ(until_ns_of(1, start_ns + 3600 * second_ns), 996 * second_ns)
      << "files of the first one's run begin after its start";
  EXPECT_EQ(until_ns_of(2, start_ns + second_ns), 0) << "of this run";
  EXPECT_EQ(until_ns_of(0, 790 * second_ns), 0) << "of this run, its rank being older";
}

TEST(EarlierRun, WithoutFilesThereIsNoNoteAndHalfOfOneIsRead) {
  EXPECT_EQ(EarlierRun(3, start_ns).in_note(), "");
  EarlierRun later(0, start_ns);
  for (const char* note : {"", "1", "x", "\n\n\n", "17\n0", "17\n0 1", "17\n9 1 2\n\n"}) {
    later.read(note);
  }
  EXPECT_EQ(later.until_ns(), 0);
}

}  // namespace
}  // namespace traceagent::process
