#include "tools/temporary_files.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>

#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::tools {
namespace {

namespace fs = std::filesystem;
constexpr std::time_t hour_s = 3600;
const std::string nobody = "8388608";  // a pid that no process has

class TemporaryFilesTest : public testing::Test {
 protected:
  std::string make(const std::string& name, std::time_t age_s) {
    const std::string path = scratch / name;
    trace::write_whole(path, "{");
    const timespec then{std::time(nullptr) - age_s, 0};
    const timespec times[2] = {then, then};
    EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
    return path;
  }
  trace::ScratchFolder scratch;
};

TEST_F(TemporaryFilesTest, OfDeadWritersGo) {
  const std::string plain = make(".node0.json.tmp-" + nobody, 25 * hour_s);
  const std::string second = make(".all.json.gz.tmp-" + nobody + "-3", 25 * hour_s);
  EXPECT_EQ(remove_old_temporaries(scratch.path().string()), 2U);
  EXPECT_FALSE(fs::exists(plain));
  EXPECT_FALSE(fs::exists(second));
}

TEST_F(TemporaryFilesTest, AllOthersStay) {
  make(".node0.json.tmp-" + nobody, 23 * hour_s);
  make(".node0.json.tmp-" + std::to_string(getpid()), 25 * hour_s);
  for (const char* name : {"node0.json", ".node0.json", "node0.json.tmp-8388608", ".tmp-8388608",
                           ".notes.txt.tmp-8388608", ".node0.json.tmp-", ".node0.json.tmp-abc",
                           ".node0.json.tmp-8388608~"}) {
    make(name, 25 * hour_s);
  }
  fs::create_symlink(scratch / "node0.json", scratch / ".link.json.tmp-8388608");
  fs::create_directory(scratch / ".folder.json.tmp-8388608");
  EXPECT_EQ(remove_old_temporaries(scratch.path().string()), 0U);
  EXPECT_EQ(remove_old_temporaries(scratch / "no such folder"), 0U);
}

TEST_F(TemporaryFilesTest, AnotherUsersStay) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const std::string path = make(".node0.json.tmp-" + nobody, 25 * hour_s);
  ASSERT_EQ(chown(path.c_str(), 12345, 12345), 0);
  EXPECT_EQ(remove_old_temporaries(scratch.path().string()), 0U);
}

}  // namespace
}  // namespace traceagent::tools
