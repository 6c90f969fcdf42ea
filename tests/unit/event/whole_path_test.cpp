#include "agent/event/whole_path.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::event {
namespace {

namespace fs = std::filesystem;

TEST(WholePathTest, IsWithoutLinksAndDots) {
  const trace::ScratchFolder scratch;
  const fs::path folder = scratch / "";
  fs::create_directory(folder / "there");
  fs::create_symlink("there", folder / "link");
  const WholePath path((folder / "there/../link/.").c_str());
  ASSERT_NE(path.c_str(), nullptr);
  EXPECT_EQ(path.c_str(), fs::canonical(folder / "there").string());
}

TEST(WholePathTest, OfWhatIsNotThereSaysWhy) {
  const WholePath missing("/none/there");
  const int why = errno;
  EXPECT_EQ(missing.c_str(), nullptr);
  EXPECT_EQ(why, ENOENT);
  EXPECT_EQ(WholePath("").c_str(), nullptr);
}

}  // namespace
}  // namespace traceagent::event
