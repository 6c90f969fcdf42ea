#include "agent/trace/input_file.hpp"

#include <gtest/gtest.h>

#include "tests/unit/trace/gzip_member.hpp"
#include "tests/unit/trace/scratch_folder.hpp"

namespace traceagent::trace {
namespace {

struct Read {
  std::string text;  // a gap is a '|'
  InputFile::Status status = InputFile::Status::data;
  GzipDamage damage;
};

Read read_all(const std::string& path, std::size_t bytes_at_once = 1000) {
  Read all;
  InputFile file;
  EXPECT_TRUE(file.open(path));
  std::string block(bytes_at_once, '\0');
  while (all.status == InputFile::Status::data || all.status == InputFile::Status::gap) {
    std::size_t size = 0;
    all.status = file.read(block.data(), block.size(), size);
    all.text.append(block, 0, size);
    all.text += all.status == InputFile::Status::gap ? "|" : "";
  }
  std::size_t size = 0;
  EXPECT_EQ(file.read(block.data(), block.size(), size), all.status);
  EXPECT_LE(file.file_bytes_read(), file.file_bytes());
  all.damage = file.damage();
  return all;
}

std::string text_of(char of, std::size_t numbers) {
  std::string text;
  for (std::size_t i = 0; i < numbers; ++i) text += of + std::to_string(i * 7919) + "\n";
  return text;
}

const std::string first = text_of('a', 300);
const std::string second = text_of('b', 300);
const std::string third = text_of('c', 9000);

TEST(InputFile, ReadsOnBehindADamagedMemberWhereverTheDamageIs) {
  const ScratchFolder folder;
  const std::string path = folder / "a.gz";
  const std::string begin = gzip_member(first);
  const std::string middle = gzip_member(second);
  const std::string end = gzip_member(third);
  std::size_t gaps = 0;
  for (std::size_t at = 0; at < middle.size(); ++at) {
    std::string damaged = middle;
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
    write_whole(path, begin + damaged + end);
    for (const std::size_t bytes_at_once : {100U, 100'000U}) {
      const Read read = read_all(path, bytes_at_once);
      ASSERT_TRUE(read.text.starts_with(first)) << at;
      ASSERT_TRUE(read.text.ends_with(third)) << at;
      ASSERT_EQ(read.status, InputFile::Status::end) << at;
      if (read.damage.places == 0) {
        // The time and the system of who wrote it are no part of what it holds.
        ASSERT_EQ(read.text, first + second + third) << at;
        continue;
      }
      ++gaps;
      ASSERT_EQ(read.damage.places, 1U) << at;
      ASSERT_EQ(read.damage.begin, begin.size()) << at;
      ASSERT_EQ(read.damage.end, begin.size() + middle.size()) << at;
      ASSERT_TRUE(read.text.ends_with("|" + third)) << at;
      ASSERT_FALSE(read.damage.is_given_up) << at;
    }
  }
  EXPECT_GT(gaps, middle.size());
}

TEST(InputFile, PassesManyDamagedMembersOneAfterTheOther) {
  const ScratchFolder folder;
  const std::string path = folder / "a.gz";
  const std::string whole = gzip_member(third);
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(~damaged[whole.size() / 2]);
  std::string members = whole;
  for (int i = 0; i < 50; ++i) members += damaged;
  for (int i = 0; i < 5; ++i) members += damaged + whole;
  write_whole(path, members);
  const Read read = read_all(path);
  EXPECT_EQ(read.damage.places, 55U);
  EXPECT_EQ(count_of(read.text, "|" + third), 5U);
  EXPECT_EQ(read.status, InputFile::Status::end);
}

TEST(InputFile, NamesDamageWithNothingBehindIt) {
  const ScratchFolder folder;
  const std::string path = folder / "a.gz";
  std::string only = gzip_member(third);
  only[only.size() / 2] = static_cast<char>(~only[only.size() / 2]);
  for (const std::string& before : {std::string(), gzip_member(first)}) {
    write_whole(path, before + only);
    const Read read = read_all(path);
    EXPECT_EQ(read.status, InputFile::Status::damaged);
    EXPECT_EQ(read.damage.places, 1U);
    EXPECT_EQ(read.damage.begin, before.size());
    EXPECT_EQ(read.damage.end, before.size() + only.size());
  }
  const std::string whole = gzip_member(first);
  write_whole(path, whole.substr(0, whole.size() / 2));
  const Read cut = read_all(path);
  EXPECT_EQ(cut.status, InputFile::Status::cut);
  EXPECT_EQ(cut.damage.places, 0U);
  EXPECT_TRUE(first.starts_with(cut.text));
}

// As gzip(1) and Python have it. But they stand in no other place of a whole file.
TEST(InputFile, TakesZerosBehindTheLastMemberForPadding) {
  const ScratchFolder folder;
  const std::string path = folder / "a.gz";
  const std::string members = gzip_member(first) + gzip_member(second);
  for (const std::size_t zeros : {std::size_t{1}, std::size_t{100}, std::size_t{300'000}}) {
    for (const std::size_t bytes_at_once : {100U, 100'000U}) {
      write_whole(path, members + std::string(zeros, '\0'));
      const Read padded = read_all(path, bytes_at_once);
      EXPECT_EQ(padded.text, first + second);
      EXPECT_EQ(padded.status, InputFile::Status::end);
      EXPECT_EQ(padded.damage.places, 0U);
      write_whole(path, members + std::string(zeros, '\0') + gzip_member(third));
      const Read hole = read_all(path, bytes_at_once);
      EXPECT_EQ(hole.text, first + second + "|" + third);
      EXPECT_EQ(hole.damage.begin, members.size());
      EXPECT_EQ(hole.damage.end, members.size() + zeros);
      write_whole(path, members + std::string(zeros, '\0') + "x");
      EXPECT_EQ(read_all(path, bytes_at_once).status, InputFile::Status::damaged);
    }
  }
}

// Each of its members seems to hold all that is behind it: to try every one would take for ever.
TEST(InputFile, GivesUpWhatLooksLikeMembersEverywhere) {
  const ScratchFolder folder;
  const std::string path = folder / "a.gz";
  // A block of 65535 bytes that are stored as they are.
  const std::string member("\x1f\x8b\x08\0\0\0\0\0\0\3\0\xff\xff\0\0", 15);
  std::string members;
  while (members.size() < 1'000'000) members += member;
  write_whole(path, members);
  const Read read = read_all(path, 100'000);
  EXPECT_EQ(read.status, InputFile::Status::damaged);
  EXPECT_LT(read.text.size(), 150'000'000U);
  EXPECT_TRUE(read.damage.is_given_up);
}

}  // namespace
}  // namespace traceagent::trace
