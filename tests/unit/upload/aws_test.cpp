#include <gtest/gtest.h>

#include "tools/upload/aws_credentials.hpp"
#include "tools/upload/aws_settings.hpp"

namespace traceagent::tools {
namespace {

using std::chrono::seconds;

TEST(AwsTime, IsUtc) {
  const auto time = aws_time("2016-11-21T14:37:01Z");
  ASSERT_TRUE(time);
  EXPECT_EQ(std::chrono::system_clock::to_time_t(*time), 1479739021);
  EXPECT_FALSE(aws_time("tomorrow"));
  EXPECT_FALSE(aws_time(""));
}

TEST(AwsTime, FitsIntoNanoseconds) {
  const auto now = std::chrono::system_clock::now();
  const auto until_expiry = aws_time("9999-12-31T23:59:59Z").value() - now;
  EXPECT_GT(until_expiry, std::chrono::hours(23));
  EXPECT_LT(until_expiry, std::chrono::hours(25));
  EXPECT_EQ(time_of_use(until_expiry), std::chrono::minutes(15));
  EXPECT_LT(aws_time("0001-01-01T00:00:00Z").value(), now);
}

TEST(AwsKeys, AreKeptUntilTheyExpire) {
  AwsSettings old, fresh;
  fresh.problem = "no credentials";
  EXPECT_FALSE(may_keep(old, fresh)) << "there are none";
  old.key = "k";
  EXPECT_FALSE(may_keep(old, fresh)) << "somebody has taken them out of a file";
  old.expires = std::chrono::system_clock::now() + std::chrono::hours(1);
  EXPECT_TRUE(may_keep(old, fresh));
  old.expires = std::chrono::system_clock::now() - seconds(1);
  EXPECT_FALSE(may_keep(old, fresh));
  old.expires.reset();
  fresh.may_pass = true;
  EXPECT_TRUE(may_keep(old, fresh));
  fresh.problem.clear();
  EXPECT_FALSE(may_keep(old, fresh)) << "there are fresh ones";
}

TEST(AwsKeys, AreReadAgainBeforeTheyExpire) {
  EXPECT_EQ(time_of_use(seconds(180)), seconds(120));
  EXPECT_EQ(time_of_use(seconds(30)), seconds(5));
  EXPECT_EQ(time_of_use(seconds(-30)), seconds(5));
  EXPECT_EQ(time_of_use(std::chrono::hours(1)), std::chrono::minutes(15));
}

TEST(AwsKeys, AreReadFromAnswers) {
  const AwsCredentials found =
      credentials_in(R"({"Version":1,"AccessKeyId":"k","SecretAccessKey":"s","SessionToken":"t",)"
                     R"("Expiration":"1970-01-01T00:00:09Z"})");
  EXPECT_EQ(found.key + found.secret + found.session_token, "kst");
  EXPECT_EQ(std::chrono::system_clock::to_time_t(found.expires.value()), 9);
  EXPECT_EQ(credentials_in(R"({"AccessKeyId":"k","Token":"t"})").session_token, "t");
  EXPECT_FALSE(credentials_in(R"({"AccessKeyId":"k"})").is_complete());
  EXPECT_FALSE(credentials_in("<html>").is_complete());
}

}  // namespace
}  // namespace traceagent::tools
