#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

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

TEST(CopyToFolder, TakesNoHalfOfAnotherUploadersWhereThereAreNoLocks) {
  const trace::ScratchFolder scratch;
  std::ofstream(scratch / "a.json") << "whole";
  Upload upload;
  upload.id = "1";
  upload.target = scratch / "there/a.json";
  const std::string half = scratch / "there/.a.json.part-1";
  while_syncing = [&] {
    fs::remove(half);
    std::ofstream(half) << "wh";
  };
  const Delivery delivery = copy_to_folder(upload, scratch / "a.json");
  while_syncing = nullptr;
  EXPECT_EQ(delivery.outcome, Delivery::Outcome::later);
  EXPECT_FALSE(fs::exists(upload.target)) << contents(upload.target);
  EXPECT_EQ(contents(half), "wh") << "the other goes on";
  EXPECT_EQ(copy_to_folder(upload, scratch / "a.json").outcome, Delivery::Outcome::done);
  EXPECT_EQ(contents(upload.target), "whole");
}

}  // namespace
}  // namespace traceagent::tools
