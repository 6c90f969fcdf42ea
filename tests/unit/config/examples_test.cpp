#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "config/options.hpp"
#include "config/yaml_entries.hpp"

namespace traceagent::config {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Loaded load_example(const std::filesystem::path& path) {
  return load_text(path.string(), text_of(path), Environment(nullptr));
}

const std::filesystem::path folder = TRACEAGENT_SOURCE_DIR "/config/examples";

TEST(Examples, LoadWithoutAProblemAndChangeSomething) {
  int files = 0;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const Loaded loaded = load_example(file.path());
    for (const Problem& problem : loaded.problems) ADD_FAILURE() << problem.line;
    const bool is_default = file.path().filename() == "default.yaml";
    EXPECT_EQ(describe(loaded.options) == describe({}), is_default) << file.path();
    ++files;
  }
  EXPECT_GE(files, 5);
}

TEST(Examples, TheDefaultFileHasEveryOption) {
  std::set<std::string> keys;
  for (const YamlEntry& entry : parse_yaml(text_of(folder / "default.yaml")).entries) {
    keys.insert(entry.key);
  }
  for (const OptionRow& row : option_rows()) {
    EXPECT_TRUE(keys.contains(std::string(row.key))) << row.key;
  }
}

TEST(Examples, MeanWhatTheySay) {
  const Options recorder = load_example(folder / "flight_recorder.yaml").options;
  EXPECT_EQ(recorder.ring_full, "overwrite");
  EXPECT_EQ(recorder.ring_size, 256U << 20);
  EXPECT_EQ(action_at(schedule_of(recorder), 0), Action::active);
  const Options long_run = load_example(folder / "long_run.yaml").options;
  EXPECT_EQ(first_non_skip(schedule_of(long_run)), 100U + 993U);
  EXPECT_FALSE(never_again(schedule_of(long_run), 1000000));
}

}  // namespace
}  // namespace traceagent::config
