#include "tools/upload/back_off.hpp"

#include <gtest/gtest.h>

namespace traceagent::tools {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Upload to_target(const std::string& target) {
  Upload upload;
  upload.target = target;
  return upload;
}

Upload by_command(std::vector<std::string> words) {
  Upload upload;
  upload.words = std::move(words);
  return upload;
}

TEST(PlaceOf, IsTheBucketTheFolderOrTheCommand) {
  EXPECT_EQ(place_of(to_target("s3://bucket/a/b.json")), "s3://bucket");
  EXPECT_EQ(place_of(to_target("/there/a/b.json")), "/there/a");
  EXPECT_EQ(place_of(by_command({"sh", "-c", "x"})), place_of(by_command({"sh", "-c", "x"})));
  EXPECT_NE(place_of(by_command({"sh", "-c", "x"})), place_of(by_command({"sh", "-c", "y"})));
}

TEST(BackOff, IsOfEachPlaceForItself) {
  const auto now = BackOff::Clock::now();
  const Upload dead = to_target("s3://dead/a"), good = to_target("s3://good/a");
  BackOff back_off;
  back_off.note_failure(dead, now);
  EXPECT_TRUE(back_off.has_failed(to_target("s3://dead/b")));
  EXPECT_GE(back_off.next_try(dead), now + milliseconds(100));
  EXPECT_FALSE(back_off.has_failed(good));
  EXPECT_LE(back_off.next_try(good), now);
  for (int i = 0; i < 20; ++i) back_off.note_failure(dead, now);
  EXPECT_GE(back_off.next_try(dead), now + seconds(15));
  EXPECT_LE(back_off.next_try(dead), now + seconds(30));
  EXPECT_LE(back_off.next_try(good), now);
  back_off.note_success(good);
  EXPECT_TRUE(back_off.is_any());
  back_off.note_success(dead);
  EXPECT_FALSE(back_off.is_any());
  EXPECT_LE(back_off.next_try(dead), now);
}

TEST(BackOff, RetriesOfManyPlacesDoNotComeAllAtOnce) {
  const auto now = BackOff::Clock::now();
  const Upload first = to_target("/1/a"), second = to_target("/2/a");
  BackOff back_off;
  back_off.note_failure(first, now);
  back_off.note_failure(second, now);
  back_off.note_failure(first, now + seconds(1));
  EXPECT_GE(back_off.next_try(second), now + milliseconds(1200));
}

// A key may be allowed to write to some folders of a bucket.
TEST(BackOff, AFolderThatRefusesAllClosesNoOther) {
  BackOff back_off;
  for (int i = 0; i < 5; ++i) {
    back_off.note_refusal(to_target("s3://bucket/theirs/" + std::to_string(i)));
  }
  EXPECT_TRUE(back_off.is_closed(to_target("s3://bucket/theirs/9")));
  EXPECT_FALSE(back_off.is_closed(to_target("s3://bucket/ours/9")));
  EXPECT_FALSE(back_off.is_closed(to_target("s3://bucket/9")));
}

TEST(BackOff, APlaceThatRefusesAllIsClosedAfterAFew) {
  const Upload refused = to_target("s3://closed/a"), other = to_target("s3://open/a");
  BackOff back_off;
  for (int i = 0; i < 2; ++i) back_off.note_refusal(refused);
  EXPECT_FALSE(back_off.is_closed(refused));
  back_off.note_success(refused);
  for (int i = 0; i < 2; ++i) back_off.note_refusal(refused);
  EXPECT_FALSE(back_off.is_closed(refused));
  back_off.note_refusal(to_target("s3://closed/b"));
  EXPECT_TRUE(back_off.is_closed(refused));
  EXPECT_FALSE(back_off.is_closed(other));
}

}  // namespace
}  // namespace traceagent::tools
