#include "agent/trace/output_file.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <utility>
#include <vector>

#include "agent/trace/side_work.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

std::string numbered_lines(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; text.size() < bytes; ++i) {
    text += "line " + std::to_string(i * 7919) + "\n";
  }
  return text;
}

std::size_t entries(const ScratchFolder& folder) {
  using Iterator = std::filesystem::directory_iterator;
  return static_cast<std::size_t>(std::distance(Iterator(folder.path()), Iterator()));
}

TEST(OutputFile, appears_only_when_finished) {
  ScratchFolder folder;
  const std::string path = folder / "a.json";
  OutputFile file;
  ASSERT_TRUE(file.open(path));
  file.append("hello");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(std::filesystem::exists(folder / (".a.json.tmp-" + std::to_string(getpid()))));
  ASSERT_TRUE(file.finish()) << file.error();
  EXPECT_EQ(read_whole(path), "hello");
  EXPECT_EQ(file.file_bytes(), 5U);
  EXPECT_EQ(entries(folder), 1U);
}

TEST(OutputFile, puts_no_file_in_the_place_of_a_device_or_a_folder) {
  ScratchFolder folder;
  const std::string pipe = folder / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const std::string link = folder / "link";
  std::filesystem::create_symlink("/dev/null", link);
  const std::string inner = folder / "inner";
  std::filesystem::create_directory(inner);
  for (const std::string& path : {pipe, link, inner}) {
    for (const bool overwrite : {false, true}) {
      OutputFile file;
      EXPECT_FALSE(file.open(path, {.overwrite = overwrite})) << path;
      EXPECT_EQ(file.error(),
                "cannot write a trace: " + path + ": it is there and no file: choose another name");
    }
  }
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(entries(folder), 3U);
}

TEST(OutputFile, leaves_low_descriptors_to_the_job) {
  ScratchFolder folder;
  const int next = dup(STDERR_FILENO);
  close(next);
  OutputFile file;
  ASSERT_TRUE(file.open(folder / "a.json"));
  const int still_next = dup(STDERR_FILENO);
  close(still_next);
  EXPECT_EQ(still_next, next);
  ASSERT_TRUE(file.finish());
}

TEST(OutputFile, works_where_high_descriptors_may_not_be_had) {
  ScratchFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    const rlimit few{64, 64};
    close(STDOUT_FILENO);  // the job goes on printing to that number
    OutputFile file;
    const bool is_open = setrlimit(RLIMIT_NOFILE, &few) == 0 && file.open(folder / "a.json");
    const bool is_free = dup(STDERR_FILENO) == STDOUT_FILENO;
    file.append("hello");
    _exit(is_open && is_free && file.finish() ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read_whole(folder / "a.json"), "hello");
}

TEST(OutputFile, is_removed_when_not_finished) {
  ScratchFolder folder;
  {
    OutputFile file;
    ASSERT_TRUE(file.open(folder / "a.json"));
    file.append(numbered_lines(3 << 20));
  }
  EXPECT_EQ(entries(folder), 0U);
}

TEST(OutputFile, a_forked_child_leaves_its_parents_file_alone) {
  ScratchFolder folder;
  OutputFile file;
  ASSERT_TRUE(file.open(folder / "a.json"));
  const pid_t child = fork();
  if (child == 0) {
    file.abandon();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  ASSERT_TRUE(file.finish()) << file.error();
}

TEST(OutputFile, long_texts_reservations_and_long_lines_keep_their_order) {
  ScratchFolder folder;
  const std::string lines = numbered_lines(5 << 20);
  const std::string one_long_line(3 << 20, 'x');
  OutputFile file;
  ASSERT_TRUE(file.open(folder / "a.json"));
  file.append(lines);
  file.append(one_long_line);
  for (const char digit : {'1', '2', '3', '4', '5', '6', '7', '8'}) {
    std::memset(file.reserve(OutputFile::max_reserve_bytes), digit, OutputFile::max_reserve_bytes);
    file.commit(OutputFile::max_reserve_bytes);
  }
  ASSERT_TRUE(file.finish());
  std::string expected = lines + one_long_line;
  for (const char digit : {'1', '2', '3', '4', '5', '6', '7', '8'}) {
    expected.append(OutputFile::max_reserve_bytes, digit);
  }
  EXPECT_TRUE(read_whole(folder / "a.json") == expected);
}

TEST(OutputFile, gzip_is_in_members_that_begin_with_a_line) {
  ScratchFolder folder;
  const std::string path = folder / "a.json.gz";
  const std::string lines = numbered_lines(5 << 20);
  OutputFile file;
  ASSERT_TRUE(file.open(path, {.gzip = true}));
  file.append(lines);
  ASSERT_TRUE(file.finish());
  EXPECT_TRUE(read_gzip(path) == lines);

  const std::string bytes = read_whole(path);
  EXPECT_EQ(bytes.size(), file.file_bytes());
  const std::string magic("\x1f\x8b\x08\x00\x00\x00\x00\x00", 8);
  std::size_t members = 0;
  for (std::size_t at = bytes.find(magic); at != std::string::npos;
       at = bytes.find(magic, at + 1)) {
    write_whole(folder / "rest.gz", bytes.substr(at));
    EXPECT_TRUE(read_gzip(folder / "rest.gz").starts_with("line ")) << at;
    ++members;
  }
  EXPECT_GE(members, 5U);
  EXPECT_LE(members, 7U);
}

TEST(OutputFile, refuses_to_replace_before_and_after) {
  ScratchFolder folder;
  const std::string path = folder / "a.json";
  OutputFile late;
  ASSERT_TRUE(late.open(path, {.overwrite = false}));
  late.append("late");
  write_whole(path, "old");

  OutputFile early;
  EXPECT_FALSE(early.open(path, {.overwrite = false}));
  EXPECT_NE(early.error().find(path), std::string::npos);
  EXPECT_NE(early.error().find("output.overwrite"), std::string::npos);
  EXPECT_FALSE(late.finish());
  EXPECT_NE(late.error().find("File exists"), std::string::npos);
  EXPECT_EQ(read_whole(path), "old");
  EXPECT_EQ(entries(folder), 1U);

  OutputFile fresh;
  ASSERT_TRUE(fresh.open(folder / "b.json", {.overwrite = false}));
  EXPECT_TRUE(fresh.finish()) << fresh.error();
  OutputFile replacing;
  ASSERT_TRUE(replacing.open(path));
  replacing.append("new");
  EXPECT_TRUE(replacing.finish());
  EXPECT_EQ(read_whole(path), "new");
}

TEST(OutputFile, takes_another_name_where_its_own_was_taken_meanwhile) {
  ScratchFolder folder;
  std::vector<std::string> names = {"", folder / "c.json", folder / "b.json"};
  const auto next_name = [&names] {
    const std::string name = names.back();
    names.pop_back();
    return name;
  };
  OutputFile file;
  ASSERT_TRUE(file.open(folder / "a.json", {.overwrite = false, .next_name = next_name}));
  file.append("late");
  write_whole(folder / "a.json", "one");
  write_whole(folder / "b.json", "two");
  ASSERT_TRUE(file.finish()) << file.error();
  EXPECT_EQ(file.path(), folder / "c.json");
  EXPECT_EQ(read_whole(folder / "a.json") + read_whole(folder / "b.json"), "onetwo");
  EXPECT_EQ(read_whole(folder / "c.json"), "late");

  OutputFile refused;
  ASSERT_TRUE(refused.open(folder / "a.json", {.overwrite = false, .next_name = next_name}));
  EXPECT_FALSE(refused.finish());
  EXPECT_NE(refused.error().find("a.json: File exists"), std::string::npos);
  EXPECT_EQ(entries(folder), 3U);
}

TEST(OutputFile, names_the_file_the_reason_and_the_remedy) {
  ScratchFolder folder;
  OutputFile file;
  EXPECT_FALSE(file.open(folder / "no/such/a.json"));
  EXPECT_EQ(file.error(), "cannot create a trace: " + (folder / "no/such/a.json") +
                              ": No such file or directory: make the folder, or choose another "
                              "output.folder");
  file.append("nothing happens");
  EXPECT_FALSE(file.finish());
}

TEST(OutputFile, a_full_disk_is_remembered_and_leaves_nothing) {
  // /dev/full cannot be reached through a temporary name, so the file size limit plays the full
  // disk.
  ScratchFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_DFL);  // which ends the process: it must not come
    const rlimit small{1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &small);
    OutputFile file;
    const bool opened = file.open(folder / "a.json");
    file.append(numbered_lines(8 << 20));
    const bool told = file.failed() && file.error().find("File too large") != std::string::npos;
    const std::string first = file.error();
    file.append(numbered_lines(1 << 20));
    _exit(opened && told && !file.finish() && file.error() == first ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(entries(folder), 0U);
}

TEST(OutputFile, mode_follows_the_umask_and_a_planted_link_is_not_followed) {
  ScratchFolder folder;
  const std::string planted = folder / (".a.json.tmp-" + std::to_string(getpid()));
  std::filesystem::create_symlink(folder / "victim", planted);
  const mode_t before = umask(027);
  OutputFile file;
  ASSERT_TRUE(file.open(folder / "a.json"));
  ASSERT_TRUE(file.finish());
  umask(before);
  struct stat status {};
  ASSERT_EQ(stat((folder / "a.json").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640U);
  EXPECT_FALSE(std::filesystem::exists(folder / "victim"));
}

// The latest moment at which work may be done: a buffer that is used before its time shows.
class LateWork : public SideWork {
 public:
  void begin(std::function<void()> work) override {
    wait();
    work_ = std::move(work);
  }
  void wait() override {
    if (work_) std::exchange(work_, nullptr)();
  }

 private:
  std::function<void()> work_;
};

TEST(OutputFile, writes_the_same_beside) {
  ScratchFolder folder;
  LateWork late;
  const std::string text = numbered_lines(5 * OutputFile::buffer_bytes);
  for (const bool gzip : {false, true}) {
    OutputFile inline_file;
    OutputFile file;
    ASSERT_TRUE(inline_file.open(folder / "inline", {.gzip = gzip}));
    ASSERT_TRUE(file.open(folder / "beside", {.gzip = gzip, .side_work = &late}));
    for (std::size_t at = 0; at < text.size(); at += 1000) {
      inline_file.append(std::string_view(text).substr(at, 1000));
      file.append(std::string_view(text).substr(at, 1000));
    }
    ASSERT_TRUE(inline_file.finish());
    ASSERT_TRUE(file.finish()) << file.error();
    EXPECT_EQ(read_whole(folder / "beside"), read_whole(folder / "inline"));
    EXPECT_EQ(file.file_bytes(), inline_file.file_bytes());
  }
}

TEST(OutputFile, tells_what_failed_beside) {
  ScratchFolder folder;
  LateWork late;
  OutputFile file;
  ASSERT_TRUE(file.open(folder / "a", {.most_bytes = 1000, .side_work = &late}));
  file.append(numbered_lines(3 * OutputFile::buffer_bytes));
  EXPECT_TRUE(file.failed());
  EXPECT_FALSE(file.finish());
  EXPECT_TRUE(file.is_too_large());
  EXPECT_EQ(entries(folder), 0U);
  OutputFile given_up;
  ASSERT_TRUE(given_up.open(folder / "b", {.side_work = &late}));
  given_up.append(numbered_lines(2 * OutputFile::buffer_bytes));
  given_up.abandon();
  EXPECT_EQ(entries(folder), 0U);
}

}  // namespace
}  // namespace traceagent::trace
