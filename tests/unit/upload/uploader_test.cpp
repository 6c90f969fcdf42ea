#include "tools/upload/uploader.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "agent/trace/delivery_lock.hpp"
#include "agent/trace/upload_journal.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::tools {
namespace {

namespace fs = std::filesystem;

class UploaderTest : public testing::Test {
 protected:
  UploaderTest() {
    fs::create_directory(folder_);
    std::ofstream(file_) << "{}";
    trace::JsonObject record;
    record.add("queue", "1").add("file", "a.json").add("target", there_).add("kind", "rank");
    EXPECT_EQ(trace::append_record(path_, record), "");
  }

  // One attempt. True: all is uploaded.
  bool work() {
    UploaderOptions options;
    options.patience = {};
    Journal journal(folder_, path_);
    return Uploader(journal, folder_, problem_, options,
                    [this](const std::string& line) { told_ += line + "\n"; })
        .work();
  }

  const trace::ScratchFolder scratch_;
  const std::string folder_ = scratch_ / "traces", there_ = scratch_ / "there/a.json";
  const std::string file_ = folder_ + "/a.json", problem_ = scratch_ / "problem";
  const std::string path_ = trace::journal_path(folder_, "host");
  std::string told_;
};

TEST_F(UploaderTest, AFileThatItsRankHasLockedIsNoFailure) {
  {
    const trace::DeliveryLock lock(file_, trace::DeliveryLock::Kind::leave_out);
    EXPECT_FALSE(work());
    EXPECT_EQ(told_, "");
    EXPECT_FALSE(fs::exists(problem_)) << "the job's end would tell of it";
    EXPECT_FALSE(fs::exists(there_));
  }
  EXPECT_TRUE(work());
  EXPECT_TRUE(fs::exists(there_));
}

TEST_F(UploaderTest, AServerThatFailsIsTold) {
  std::ofstream(scratch_ / "there") << "no folder";
  EXPECT_FALSE(work());
  EXPECT_NE(told_.find("tried again"), std::string::npos) << told_;
  EXPECT_TRUE(fs::exists(problem_));
}

}  // namespace
}  // namespace traceagent::tools
