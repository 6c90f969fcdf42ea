#include "agent/trace/index_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

const std::string head = R"({"run_key": "a", "entries": [)";

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

std::vector<std::string> entries_of(const std::string& path) {
  std::string text = text_of(path);
  std::erase(text, '\n');  // is_whole_value() takes one line
  EXPECT_TRUE(is_whole_value(text)) << text;
  std::vector<std::string> entries;
  for_each_element(member(text, "entries").value_or(""),
                   [&](std::string_view entry) { entries.emplace_back(entry); });
  return entries;
}

class IndexFileTest : public testing::Test {
 protected:
  ScratchFolder folder_;
  const std::string path_ = folder_ / "index.json";
};

TEST_F(IndexFileTest, IsAWholeDocumentAfterEachEntry) {
  std::vector<std::string> expected;
  for (int i = 0; i < 5; ++i) {
    expected.push_back("{\"step\": " + std::to_string(i) + "}");
    ASSERT_EQ(add_to_index(path_, head, expected.back(), false), "");
    EXPECT_EQ(entries_of(path_), expected);
  }
}

TEST_F(IndexFileTest, CutsWhatAKilledWriterLeftOfItsLine) {
  const std::string first = R"({"step": 1})";
  const std::string next = R"({"step": 2})";
  ASSERT_EQ(add_to_index(path_, head, first, false), "");
  const std::string whole = text_of(path_);
  ASSERT_EQ(add_to_index(path_, head, next, false), "");
  const std::string both = text_of(path_);
  for (std::size_t cut = 0; cut <= both.size(); ++cut) {
    // A kill leaves the new bytes up to some place, and of the old ones what lies behind it.
    const std::string torn =
        both.substr(0, cut) + (cut < whole.size() ? whole.substr(cut) : std::string());
    write(path_, torn);
    ASSERT_EQ(add_to_index(path_, head, R"({"step": 3})", false), "") << torn;
    const std::vector<std::string> entries = entries_of(path_);
    EXPECT_EQ(entries.front(), first) << torn;
    EXPECT_EQ(entries.back(), R"({"step": 3})") << torn;
  }
  for (std::size_t cut = 0; cut < whole.size(); ++cut) {
    write(path_, whole.substr(0, cut));
    ASSERT_EQ(add_to_index(path_, head, next, false), "") << cut;
    EXPECT_EQ(entries_of(path_).back(), next) << cut;
  }
}

TEST_F(IndexFileTest, IsNotMixedWithThatOfAnotherRun) {
  ASSERT_EQ(add_to_index(path_, R"({"run_key": "b", "entries": [)", "{}", false), "");
  const std::string before = text_of(path_);
  EXPECT_NE(add_to_index(path_, head, "{}", false).find("of another run"), std::string::npos);
  EXPECT_EQ(text_of(path_), before);
  EXPECT_EQ(add_to_index(path_, head, R"({"step": 1})", true), "");
  EXPECT_EQ(entries_of(path_), std::vector<std::string>{R"({"step": 1})"});
  EXPECT_TRUE(index_holds(path_, R"("step": 1)"));
  EXPECT_FALSE(index_holds(path_, R"("run_key": "b")"));
  EXPECT_FALSE(is_other_index(path_, head));
  EXPECT_TRUE(is_other_index(path_, R"({"run_key": "b", "entries": [)"));
  EXPECT_FALSE(is_other_index(folder_ / "none", head));
}

// Whoever joins indexes takes those alone whose first line is the head.
TEST_F(IndexFileTest, AHeadThatGoesOnIsNoIndexOfOurs) {
  write(path_, head + "]}\n");
  EXPECT_NE(add_to_index(path_, head, R"({"step": 1})", false), "");
  EXPECT_EQ(text_of(path_), head + "]}\n");
  ASSERT_EQ(add_to_index(path_, head, R"({"step": 1})", true), "");
  EXPECT_EQ(text_of(path_), head + "\n{\"step\": 1}\n]}\n");
}

TEST_F(IndexFileTest, FollowsNoLinkAndSaysWhatIsWrong) {
  const std::string elsewhere = folder_ / "elsewhere";
  write(elsewhere, "kept");
  std::filesystem::create_symlink(elsewhere, path_);
  EXPECT_NE(add_to_index(path_, head, "{}", true), "");
  EXPECT_EQ(text_of(elsewhere), "kept");
  EXPECT_NE(add_to_index(folder_ / "none/index.json", head, "{}", false), "");
}

// Who has opened it reads the whole of it, as it was, whatever is added meanwhile.
TEST_F(IndexFileTest, StaysAsItIsForWhoReadsIt) {
  ASSERT_EQ(add_to_index(path_, head, R"({"step": 1})", false), "");
  const std::string before = text_of(path_);
  std::ifstream reader(path_);
  ASSERT_EQ(add_to_index(path_, head, R"({"step": 2})", false), "");
  std::ostringstream text;
  text << reader.rdbuf();
  EXPECT_EQ(text.str(), before);
}

TEST_F(IndexFileTest, KeepsItsModeAndRemovesWhatAKilledWriterHasLeft) {
  ASSERT_EQ(add_to_index(path_, head, "{}", false), "");
  std::filesystem::permissions(path_, std::filesystem::perms{0600});
  write(folder_ / ".index.json.tmp-1", "half");
  write(folder_ / ".index.json.tmp-1-3", "half");
  write(folder_ / ".index.json2.tmp-1", "another's");
  ASSERT_EQ(add_to_index(path_, head, "{}", false), "");
  EXPECT_EQ(std::filesystem::status(path_).permissions(), std::filesystem::perms{0600});
  std::set<std::string> left;
  for (const auto& file : std::filesystem::directory_iterator(folder_.path())) {
    left.insert(file.path().filename());
  }
  EXPECT_EQ(left, (std::set<std::string>{"index.json", ".index.json2.tmp-1"}));
}

const std::string kilobyte_entry = R"({"text": ")" + std::string(1000, 'a') + "\"}";

std::string long_index(int entries) {
  std::string text = head;
  for (int i = 0; i < entries; ++i) text += (i == 0 ? "\n" : ",\n") + kilobyte_entry;
  return text + "\n]}\n";
}

struct stat facts_of(const std::string& path) {
  struct stat facts {};
  EXPECT_EQ(stat(path.c_str(), &facts), 0);
  return facts;
}

// A run of days would write gigabytes if each line made the file anew.
TEST_F(IndexFileTest, ALongOneGrowsInPlace) {
  constexpr int entries = 100;
  write(path_, long_index(entries));
  const ino_t before = facts_of(path_).st_ino;
  ASSERT_EQ(add_to_index(path_, head, R"({"step": 2})", false), "");
  EXPECT_EQ(facts_of(path_).st_ino, before);
  ASSERT_EQ(add_to_index(path_, head, R"({"step": 3})", false), "");
  const std::vector<std::string> all = entries_of(path_);
  ASSERT_EQ(all.size(), std::size_t{entries} + 2);
  EXPECT_EQ(all[entries - 1], kilobyte_entry);
  EXPECT_EQ(all[entries], R"({"step": 2})");
  EXPECT_EQ(all.back(), R"({"step": 3})");
}

// A kill leaves the new bytes up to some place, and of the old ones what lies behind it.
TEST_F(IndexFileTest, ALongOneThatAKillHasCutIsMadeAnew) {
  constexpr int entries = 70;
  const std::string whole = long_index(entries);
  const std::string next = R"({"step": 2})", last = "{}";
  write(path_, whole);
  ASSERT_EQ(add_to_index(path_, head, next, false), "");
  const std::string both = text_of(path_);
  for (std::size_t cut = whole.size() - 4; cut <= both.size(); ++cut) {
    write(path_, both.substr(0, cut) + (cut < whole.size() ? whole.substr(cut) : std::string()));
    const std::string torn = text_of(path_).substr(whole.size() - 4);
    EXPECT_TRUE(index_holds(path_, kilobyte_entry)) << torn;
    ASSERT_EQ(add_to_index(path_, head, last, false), "") << torn;
    const std::vector<std::string> all = entries_of(path_);
    ASSERT_GE(all.size(), std::size_t{entries} + 1) << torn;
    EXPECT_EQ(all[entries - 1], kilobyte_entry) << torn;
    EXPECT_EQ(all.back(), last) << torn;
  }
}

// A snapshot of the folder, made of links.
TEST_F(IndexFileTest, ALongOneOfTwoNamesGrowsUnderItsOwnAlone) {
  const std::string whole = long_index(100), other = folder_ / "snapshot";
  write(path_, whole);
  std::filesystem::create_hard_link(path_, other);
  ASSERT_EQ(add_to_index(path_, head, R"({"step": 2})", false), "");
  EXPECT_EQ(text_of(other), whole);
  EXPECT_EQ(entries_of(path_).back(), R"({"step": 2})");
}

// As on a full disk, which takes a part of it.
TEST_F(IndexFileTest, ALongOneThatMayNotGrowStaysWhole) {
  const std::string whole = long_index(100);
  write(path_, whole);
  struct rlimit before {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit limit { whole.size() + 2, before.rlim_max };
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string problem = add_to_index(path_, head, R"({"step": 2})", false);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_NE(problem.find(path_), std::string::npos) << problem;
  EXPECT_EQ(text_of(path_), whole);
}

TEST_F(IndexFileTest, CopiesWhatIsLongerThanItsBuffer) {
  constexpr int entries = 3000;
  const std::string whole = long_index(entries);
  write(path_, whole.substr(0, whole.size() - 2));  // not whole: made anew
  ASSERT_EQ(add_to_index(path_, head, R"({"step": 2})", false), "");
  const std::vector<std::string> all = entries_of(path_);
  ASSERT_EQ(all.size(), std::size_t{entries} + 1);
  EXPECT_EQ(all[entries - 1], kilobyte_entry);
  EXPECT_EQ(all.back(), R"({"step": 2})");
}

std::string numbered(int number) {
  return "{\"n\": " + std::to_string(number) + R"(, "text": ")" + std::string(80, 'a') + "\"}";
}

TEST_F(IndexFileTest, TakesTheLinesOfManyProcesses) {
  constexpr int processes = 4;
  constexpr int lines = 500;  // short at first, then long
  for (int process = 0; process < processes; ++process) {
    if (fork() == 0) {
      bool ok = true;
      for (int i = 0; i < lines; ++i) {
        const int number = process * lines + i;
        ok &= add_to_index(path_, head, numbered(number), false).empty();
      }
      _exit(ok ? 0 : 1);
    }
  }
  int status = 0;
  while (wait(&status) > 0) {
    EXPECT_EQ(status, 0);
  }
  const std::vector<std::string> entries = entries_of(path_);
  EXPECT_EQ(entries.size(), std::size_t{processes * lines});
  EXPECT_EQ(std::set<std::string>(entries.begin(), entries.end()).size(), entries.size());
}

}  // namespace
}  // namespace traceagent::trace
