#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/trace/scratch_folder.hpp"
#include "tests/unit/upload/while_syncing.hpp"
#include "tools/upload/delivery.hpp"

namespace traceagent::tools {
namespace {

namespace fs = std::filesystem;

std::string contents(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class CopyToFolderTest : public testing::Test {
 protected:
  CopyToFolderTest() {
    std::ofstream(file_) << "whole";
    upload_.id = "1";
    upload_.target = scratch_ / "there/a.json";
  }
  ~CopyToFolderTest() override { while_syncing = nullptr; }

  std::vector<std::string> names_there() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(scratch_ / "there")) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const trace::ScratchFolder scratch_;
  const std::string file_ = scratch_ / "a.json";
  Upload upload_;
};

TEST_F(CopyToFolderTest, WhereThereAreNoLocksTwoUploadersEachWriteAFileOfTheirOwn) {
  bool is_first = true;
  while_syncing = [&] {
    if (!std::exchange(is_first, false)) return;
    EXPECT_EQ(names_there().size(), 1u);
    const std::string first = names_there().front();
    // The other begins when this one's is whole, and ends first.
    EXPECT_EQ(copy_to_folder(upload_, file_, false).outcome, Delivery::Outcome::done);
    EXPECT_EQ(names_there(), (std::vector<std::string>{first, "a.json"}));
    fs::remove(upload_.target);
  };
  EXPECT_EQ(copy_to_folder(upload_, file_, false).outcome, Delivery::Outcome::done);
  EXPECT_EQ(names_there(), std::vector<std::string>{"a.json"});
  EXPECT_EQ(contents(upload_.target), "whole");
}

TEST_F(CopyToFolderTest, AFolderThatLeadsToItsOwnIsRefused) {
  fs::create_directory_symlink(fs::path(file_).parent_path(), scratch_ / "there");
  EXPECT_EQ(copy_to_folder(upload_, file_, true).outcome, Delivery::Outcome::refused);
  upload_.target = scratch_ / "there/b.json";
  EXPECT_EQ(copy_to_folder(upload_, file_, true).outcome, Delivery::Outcome::done);
  EXPECT_EQ(contents(scratch_ / "b.json"), "whole");
}

TEST_F(CopyToFolderTest, WhoHasTheLockRemovesAKilledOnesHalf) {
  fs::create_directory(scratch_ / "there");
  std::ofstream(scratch_ / "there/.a.json.part-1") << "wh";
  EXPECT_EQ(copy_to_folder(upload_, file_, true).outcome, Delivery::Outcome::done);
  EXPECT_EQ(names_there(), std::vector<std::string>{"a.json"});
  EXPECT_EQ(contents(upload_.target), "whole");
}

TEST_F(CopyToFolderTest, ALongNameHasRoomForTheTemporaryOne) {
  upload_.id = "1795829467.564430100-4194304-12";
  for (const std::string& name : {std::string(255, 'a'), "a" + std::string(127, '\xc3')}) {
    std::string whole = name;  // of two bytes each
    for (std::size_t i = 2; name.front() != name.back() && i < whole.size(); i += 2)
      whole[i] = '\xbc';
    upload_.target = scratch_ / "there/" + whole;
    for (const bool is_alone : {true, false}) {
      const Delivery delivery = copy_to_folder(upload_, file_, is_alone);
      EXPECT_EQ(delivery.outcome, Delivery::Outcome::done) << delivery.what;
      EXPECT_EQ(names_there(), std::vector<std::string>{whole});
      fs::remove(upload_.target);
    }
  }
}

}  // namespace
}  // namespace traceagent::tools
