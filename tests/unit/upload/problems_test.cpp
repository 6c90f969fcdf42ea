#include "tools/upload/problems.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "agent/event/hash.hpp"
#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/upload/new_file.hpp"

namespace traceagent::tools {
namespace {

std::string line_of(const std::string& place, const std::string& problem) {
  return "place-" + std::to_string(event::hash_text(place)) + " " + problem + "\n";
}

std::vector<std::string> texts_in(const std::string& path) {
  std::vector<std::string> texts;
  for (const ProblemLine& line : problem_lines(path)) texts.push_back(line.text);
  return texts;
}

TEST(Problems, TheLastOfEachPlaceTheNewestFirst) {
  Problems problems;
  EXPECT_EQ(problems.text(), "");
  problems.note("s3://a", "a.json: HTTP 503");
  problems.note("s3://b", "b.json: HTTP 403");
  problems.note("s3://a", "c.json: HTTP 500");
  EXPECT_EQ(problems.text(),
            line_of("s3://a", "c.json: HTTP 500") + line_of("s3://b", "b.json: HTTP 403"));
  problems.forget("s3://a");
  EXPECT_FALSE(problems.has("s3://a"));
  EXPECT_EQ(problems.text(), line_of("s3://b", "b.json: HTTP 403"));
}

TEST(Problems, OfManyPlacesTheNewestAlone) {
  Problems problems;
  for (int i = 0; i < 100; ++i) {
    problems.note("folder" + std::to_string(i), "problem " + std::to_string(i));
  }
  EXPECT_EQ(problems.size(), 8u);
  EXPECT_TRUE(problems.has("folder99"));
  EXPECT_FALSE(problems.has("folder91"));
}

TEST(Problems, TheNextUploaderHasThemToo) {
  const trace::ScratchFolder scratch;
  const std::string path = scratch / "host.problem";
  Problems first;
  first.note("s3://a", "a.json: HTTP 403");
  first.note("exec:put\n{}\n", "a.json -> exec:put: exit code 1");
  std::ofstream(path) << first.text();
  Problems second(path);
  second.note("s3://b", "a.json: HTTP 500");
  std::ofstream(path) << second.text();
  EXPECT_EQ(texts_in(path),
            (std::vector<std::string>{"a.json: HTTP 500", "a.json -> exec:put: exit code 1",
                                      "a.json: HTTP 403"}));
  EXPECT_TRUE(problem_lines(path).front().is_of_place);
  Problems third(path);
  third.keep({"s3://a"});
  EXPECT_EQ(third.size(), 1u);
  EXPECT_TRUE(third.has("s3://a"));
}

TEST(Problems, ALineOfAnothersNamesNoPlace) {
  const trace::ScratchFolder scratch;
  const std::string path = scratch / "host.problem";
  std::ofstream(path) << "upload: the journal: cannot be read\n";
  EXPECT_EQ(Problems(path).size(), 0u);
  EXPECT_EQ(texts_in(path), std::vector<std::string>{"upload: the journal: cannot be read"});
  EXPECT_FALSE(problem_lines(path).front().is_of_place);
  EXPECT_TRUE(problem_lines(scratch / "none").empty());
}

// On a full disk no new file can be made: what stands there would be false by now.
TEST(Problems, WhereNoNewFileCanBeMadeTheOldOneIsWrittenTo) {
  const trace::ScratchFolder scratch;
  const std::string path = scratch / "host.problem";
  std::ofstream(path) << "a long line that is not true any more\n";
  std::filesystem::create_directories(path + ".new/in the way");
  replace_file(path, "true\n");
  EXPECT_EQ(texts_in(path), std::vector<std::string>{"true"});
}

}  // namespace
}  // namespace traceagent::tools
