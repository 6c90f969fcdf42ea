#include "agent/trace/joined_index.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <thread>

#include "agent/trace/index_file.hpp"
#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_syntax.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

const std::string head = R"({"run_key": "a", "entries": [)";

std::vector<std::string> entries_of(const std::string& path) {
  std::ostringstream file;
  file << std::ifstream(path).rdbuf();
  std::string text = file.str();
  std::erase(text, '\n');
  EXPECT_TRUE(is_whole_value(text)) << path << ": " << text;
  std::vector<std::string> entries;
  for_each_element(member(text, "entries").value_or(""),
                   [&](std::string_view entry) { entries.emplace_back(entry); });
  return entries;
}

class JoinedIndexTest : public testing::Test {
 protected:
  std::string add(int node, int number) {
    const std::string part = folder_ / ("index-node" + std::to_string(node) + ".json");
    const std::string entry =
        "{\"node\": " + std::to_string(node) + ", \"n\": " + std::to_string(number) + "}";
    std::string problem = add_to_index(part, head, entry, false);
    return problem.empty() ? join(UINT64_MAX) : problem;
  }
  std::string join(std::uint64_t most) {
    const std::string folder = path_.substr(0, path_.rfind('/'));
    return join_indexes(folder, "index-node", head, path_, most);
  }

  ScratchFolder folder_;
  const std::string path_ = folder_ / "index.json";
};

TEST_F(JoinedIndexTest, HasWhatAllNodesOfTheRunHave) {
  ASSERT_EQ(add(1, 1), "");
  ASSERT_EQ(add(0, 1), "");
  ASSERT_EQ(add(1, 2), "");
  std::ofstream(folder_ / "index-node2.json") << R"({"run_key": "b", "entries": [)"
                                              << "\n{\"node\": 2}\n]}\n";
  ASSERT_EQ(join(UINT64_MAX), "");
  EXPECT_EQ(entries_of(path_),
            (std::vector<std::string>{"{\"node\": 0, \"n\": 1}", "{\"node\": 1, \"n\": 1}",
                                      "{\"node\": 1, \"n\": 2}"}));
}

TEST_F(JoinedIndexTest, LeavesHalfALineToWhoIsWritingIt) {
  std::ofstream(folder_ / "index-node0.json") << head << "\n{\"n\": 1},\n{\"n\": 2";
  ASSERT_EQ(join(UINT64_MAX), "");
  EXPECT_EQ(entries_of(path_), std::vector<std::string>{"{\"n\": 1}"});
}

TEST_F(JoinedIndexTest, IsNotMadeOfTooMuch) {
  ASSERT_EQ(add(0, 1), "");
  ASSERT_EQ(add_to_index(folder_ / "index-node0.json", head, "{\"n\": 9}", false), "");
  ASSERT_EQ(join(8), "");
  EXPECT_EQ(entries_of(path_).size(), 1U);
}

// Each joining writes all of it: of a long one not with each line.
TEST_F(JoinedIndexTest, IsLateForItsSize) {
  EXPECT_FALSE(was_joined_lately(path_, 1));
  std::ofstream(path_) << std::string(1000, ' ');
  const auto made_before = [&](auto age) {
    std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now() - age);
  };
  made_before(std::chrono::seconds(5));
  EXPECT_TRUE(was_joined_lately(path_, 100)) << "in 5 s it would be due";
  EXPECT_FALSE(was_joined_lately(path_, 1000));
  made_before(std::chrono::seconds(-3600));
  EXPECT_FALSE(was_joined_lately(path_, 100)) << "by another clock";
}

// No lock between them, as on NFS without one.
TEST_F(JoinedIndexTest, LosesNothingOfNodesThatAddAtOnce) {
  constexpr int nodes = 4;
  constexpr int rounds = 150;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
    for (int node = 0; node < nodes; ++node) {
      if (fork() == 0) {
        std::this_thread::sleep_until(begin);
        _exit(add(node, round).empty() ? 0 : 1);
      }
    }
    int status = 0;
    while (wait(&status) > 0) EXPECT_EQ(status, 0);
    // The last one that named its file has seen all.
    ASSERT_EQ(entries_of(path_).size(), std::size_t{nodes} * (static_cast<unsigned>(round) + 1));
  }
}

TEST_F(JoinedIndexTest, IsWholeWhereWhoMakesItIsKilled) {
  std::mt19937 random(5);
  ASSERT_EQ(add(0, 0), "");
  std::size_t last = 0;
  for (int round = 0; round < 40; ++round) {
    pid_t writers[2];
    for (int node = 0; node < 2; ++node) {
      writers[node] = fork();
      if (writers[node] == 0) {
        for (int i = 0;; ++i) static_cast<void>(add(node, round * 1000 + i));
      }
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 6000));
    for (const pid_t writer : writers) kill(writer, SIGKILL);
    for (const pid_t writer : writers) waitpid(writer, nullptr, 0);
    static_cast<void>(entries_of(path_));  // whole, whatever was
    ASSERT_EQ(add(0, 999), "");
    const std::vector<std::string> all = entries_of(path_);
    for (int node = 0; node < 2; ++node) {
      const std::string part = folder_ / ("index-node" + std::to_string(node) + ".json");
      if (access(part.c_str(), F_OK) != 0) continue;
      for (const std::string& entry : entries_of(part)) {
        ASSERT_NE(std::find(all.begin(), all.end(), entry), all.end()) << entry;
      }
    }
    ASSERT_GT(all.size(), last);
    last = all.size();
  }
}

}  // namespace
}  // namespace traceagent::trace
