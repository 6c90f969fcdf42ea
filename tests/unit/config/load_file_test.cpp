#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "config/options.hpp"
#include "tests/unit/config/loaded_from.hpp"

namespace traceagent::config {
namespace {

TEST(LoadText, BrokenYamlIsNotUsedAtAll) {
  const Loaded loaded = from_yaml("verbose: true\nring: {size: 1MiB\nquiet: true\n");
  EXPECT_EQ(lines_of(loaded), (Lines{"broken YAML: job.yaml:3: end of map flow not found; going on "
                                     "without this file"}));
  EXPECT_FALSE(loaded.options.verbose);
}

TEST(LoadText, DoubtfulYaml) {
  EXPECT_EQ(lines_of(from_yaml("quiet: true\nquiet: false\n---\nx: 1\n")),
            (Lines{"doubtful YAML: job.yaml:2: \"quiet\" is given twice; the first one is used",
                   "doubtful YAML: job.yaml: a second document begins; only the first one is "
                   "read"}));
}

// Also the beginning of a fuzzer's corpus.
TEST(LoadText, SurvivesTheSeeds) {
  int seeds = 0;
  for (const auto& file :
       std::filesystem::directory_iterator(TRACEAGENT_SOURCE_DIR "/tests/unit/config/seeds")) {
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    for (const std::string& line : lines_of(from_yaml(text.str()))) {
      EXPECT_EQ(line.find_first_of("\n\r"), std::string::npos) << file.path();
    }
    ++seeds;
  }
  EXPECT_GE(seeds, 8);
}

class LoadFile : public testing::Test {
 protected:
  std::string path_ = testing::TempDir() + "traceagent_load_" + std::to_string(getpid()) + ".yaml";
  void TearDown() override { std::remove(path_.c_str()); }
};

TEST_F(LoadFile, ThatTheVariableNames) {
  std::ofstream(path_) << "ring:\n  size: 1MiB\n  fall: drop\n";
  const Loaded loaded = from_variables({"TRACEAGENT_CONFIG=" + path_});
  EXPECT_EQ(loaded.options.ring_size, 1048576U);
  EXPECT_EQ(loaded.config_path, path_);
  EXPECT_EQ(lines_of(loaded), (Lines{"unknown option: " + path_ +
                                     ":3: \"ring.fall\": the nearest is ring.full; ignored"}));
}

TEST_F(LoadFile, ThatCannotBeRead) {
  EXPECT_EQ(lines_of(from_variables({"TRACEAGENT_CONFIG=" + path_, "TRACEAGENT_VERBOSE=1"})),
            (Lines{"unreadable options file: " + path_ +
                   ": No such file or directory; going on without it"}));
  EXPECT_EQ(lines_of(from_variables({"TRACEAGENT_CONFIG="})), Lines{});
}

TEST_F(LoadFile, ThatIsBinary) {
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>(i * 37 % 251 + 1);
  std::ofstream(path_) << bytes;
  const Loaded loaded = from_variables({"TRACEAGENT_CONFIG=" + path_});
  ASSERT_EQ(loaded.problems.size(), 1U);
  EXPECT_TRUE(loaded.problems[0].line.starts_with("broken YAML: " + path_));
  EXPECT_EQ(describe(loaded.options), describe({}));
  std::ofstream(path_) << std::string(
      "\x7f"
      "ELF\0\0",
      6);
  EXPECT_EQ(lines_of(from_variables({"TRACEAGENT_CONFIG=" + path_})),
            (Lines{"broken YAML: " + path_ +
                   ": not text: it has a zero byte in it; going on without this file"}));
}

TEST_F(LoadFile, OfTenMegabytes) {
  std::ofstream(path_) << std::string(10 << 20, 'a');
  EXPECT_EQ(
      lines_of(from_variables({"TRACEAGENT_CONFIG=" + path_})),
      (Lines{"unreadable options file: " + path_ + ": larger than 1 MiB; going on without it"}));
}

}  // namespace
}  // namespace traceagent::config
