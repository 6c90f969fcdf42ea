#include "agent/drain/file_names.hpp"

#include <gtest/gtest.h>

#include "tests/unit/drain/crafted_ring.hpp"

namespace traceagent::drain {
namespace {

constexpr std::uint64_t second = 1'000'000'000;

std::string name_with(CraftedRing& crafted, const char* name_template, const ring::Window& window) {
  crafted.ring().header().identity.file_template = crafted.ring().add_name(name_template);
  const NamedFile named = rank_file_name(crafted.ring(), window);
  EXPECT_EQ(named.problem, "");
  return named.path;
}

TEST(RankFileName, BatchIsTheCountAfterTheLastStep) {
  CraftedRing crafted("/out/{run_name}/traces");
  EXPECT_EQ(rank_file_name(crafted.ring(), crafted.window(1000, 2000, 2, 4)).path,
            "/out/a run/traces/ep0-ba5-rank3.json");
}

TEST(RankFileName, KnowsWhoWeAre) {
  CraftedRing crafted("/out");
  EXPECT_EQ(name_with(crafted,
                      "{rank}-{local_rank}-{world_size}-{local_world_size}-{node_rank}-{run_name}",
                      crafted.window(1000, 2000, 0, 0)),
            "/out/3-1-8-2-1-a run");
}

TEST(RankFileName, CountsEpochsSamplesAndTokens) {
  CraftedRing crafted("/out");
  ring::IdentityBlock& identity = crafted.ring().header().identity;
  identity.steps_per_epoch = 10;
  identity.samples_per_step = 32;
  identity.tokens_per_step = 1024;
  const char* all =
      "{epoch}-{batch}-{batch_in_epoch}-{sample}-{sample_in_epoch}-{token}-{token_in_epoch}";
  EXPECT_EQ(name_with(crafted, all, crafted.window(1000, 2000, 20, 23)),
            "/out/2-24-4-768-128-24576-4096");
  // The last batch of an epoch still is of this epoch.
  EXPECT_EQ(name_with(crafted, all, crafted.window(1000, 2000, 18, 19)),
            "/out/1-20-10-640-320-20480-10240");
}

TEST(RankFileName, MeasuresTimesInSeconds) {
  CraftedRing crafted("/out");
  crafted.ring().header().identity.steps_per_epoch = 4;
  crafted.ring().header().anchors.tables[0][0] = {0, static_cast<std::uint64_t>(epoch_ns), 0};
  crafted.step(4, 10 * second, 11 * second);
  crafted.step(5, 11 * second, 13 * second);
  EXPECT_EQ(name_with(crafted, "{total_wct:.1f}-{epoch_wct:.1f}-{batch_wct:.1f}",
                      crafted.window(10 * second, 13 * second, 4, 5)),
            "/out/13.0-3.0-2.0");
}

TEST(RankFileName, AStartupWindowIsBatchZero) {
  CraftedRing crafted("/out");
  ring::Window& window = crafted.window(1000, 2000, 0, 0);
  window.is_startup = 1;
  EXPECT_EQ(rank_file_name(crafted.ring(), window).path, "/out/ep0-ba0-rank3.json");
}

TEST(RankFileName, ASecondProcessOfTheRankHasItsPid) {
  CraftedRing crafted("/out.json");
  crafted.ring().header().identity.trace_pid = 1'000'003;
  const ring::Window& window = crafted.window(1000, 2000, 0, 0);
  EXPECT_EQ(rank_file_name(crafted.ring(), window).path, "/out.json/ep0-ba1-rank3-pid4242.json");
  EXPECT_EQ(name_with(crafted, "plain", window), "/out.json/plain-pid4242");
  crafted.ring().header().identity.gzip = 1;
  EXPECT_EQ(name_with(crafted, "a.json", window), "/out.json/a-pid4242.json.gz");
}

// Else what was recorded could not be written, nor recovered.
TEST(RankFileName, OneThatIsTooLongForAFileSystemIsShortened) {
  CraftedRing crafted("/out");
  const ring::Window& window = crafted.window(1000, 2000, 0, 0);
  const std::string long_name(300, 'x');
  const auto named = [&](const std::string& name_template) {
    return name_with(crafted, name_template.c_str(), window);
  };
  const std::string path = named(long_name + "-{rank}.json");
  EXPECT_LE(path.size(), std::string("/out/").size() + most_name_bytes);
  EXPECT_TRUE(path.starts_with("/out/xxx"));
  EXPECT_TRUE(path.ends_with("xxx-3.json"));
  EXPECT_EQ(named(long_name + "-{rank}.json"), path);
  EXPECT_NE(named("{rank}" + long_name + "{rank}" + long_name + "-3.json"), path);
  EXPECT_NE(named(std::string(301, 'x') + "-{rank}.json"), path);
  EXPECT_EQ(named("a/" + long_name + "-{rank}.json").substr(0, 7), "/out/a/");
  EXPECT_EQ(named(std::string(most_name_bytes, 'y')), "/out/" + std::string(most_name_bytes, 'y'));
}

TEST(RankFileName, IsNotShortenedWithinACharacter) {
  CraftedRing crafted("/out");
  const ring::Window& window = crafted.window(1000, 2000, 0, 0);
  std::string accents;
  for (int i = 0; i < 150; ++i) accents += "\u00e9";
  for (const std::string before : {"", "a"}) {
    const std::string path = name_with(crafted, (before + accents + ".json").c_str(), window);
    EXPECT_LE(path.size(), 5 + most_name_bytes);
    std::string rest = path;
    for (std::size_t at; (at = rest.find("\u00e9")) != std::string::npos;) rest.erase(at, 2);
    EXPECT_EQ(rest.find_first_of("\xc3\xa9"), std::string::npos) << path;
  }
}

TEST(RankFileName, GzipAddsItsSuffixOnce) {
  CraftedRing crafted("/out");
  crafted.ring().header().identity.gzip = 1;
  const ring::Window& window = crafted.window(1000, 2000, 0, 0);
  EXPECT_EQ(name_with(crafted, "a.json", window), "/out/a.json.gz");
  EXPECT_EQ(name_with(crafted, "a.json.gz", window), "/out/a.json.gz");
}

TEST(RankFileName, ABadTemplateIsAProblem) {
  CraftedRing crafted("/out");
  crafted.ring().header().identity.file_template = crafted.ring().add_name("{batch");
  const NamedFile named = rank_file_name(crafted.ring(), crafted.window(1000, 2000, 0, 0));
  EXPECT_EQ(named.path, "");
  EXPECT_NE(named.problem, "");
}

TEST(RankFileName, OneThatOtherRanksHaveTooIsKnown) {
  CraftedRing crafted("/out");
  const ring::Window& window = crafted.window(1000, 2000, 0, 0);
  for (const auto& [name_template, is_of_several] :
       {std::pair("{rank}", false), std::pair("{node_rank}-{local_rank}", false),
        std::pair("{local_rank}", true), std::pair("{node_rank}", true), std::pair("x", true)}) {
    crafted.ring().header().identity.file_template = crafted.ring().add_name(name_template);
    EXPECT_EQ(rank_file_name(crafted.ring(), window).is_of_several_ranks, is_of_several)
        << name_template;
  }
}

TEST(NodeFileName, IsOfTheNode) {
  CraftedRing crafted("/out/{run_name}");
  EXPECT_EQ(node_file_name(crafted.ring()).path, "/out/a run/node1.json");
  crafted.ring().header().identity.merged_name = 0;
  EXPECT_EQ(node_file_name(crafted.ring()).path, "");
}

}  // namespace
}  // namespace traceagent::drain
