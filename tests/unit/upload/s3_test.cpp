#include "tools/upload/s3.hpp"

#include <gtest/gtest.h>

#include "tools/upload/digest.hpp"
#include "tools/upload/s3_url.hpp"
#include "tools/upload/xml_text.hpp"

namespace traceagent::tools {
namespace {

AwsSettings settings(const char* endpoint, const char* region = "eu-west-1") {
  AwsSettings settings;
  settings.endpoint = endpoint;
  settings.region = region;
  return settings;
}

TEST(S3Url, HasTheBucketWhereTheServerWantsIt) {
  EXPECT_EQ(s3_url(settings("http://h:1"), "s3://b/k/x.json"), "http://h:1/b/k/x.json");
  EXPECT_EQ(s3_url(settings(""), "s3://b/k"), "https://b.s3.eu-west-1.amazonaws.com/k");
  EXPECT_EQ(s3_url(settings(""), "s3://b.c/k"), "https://s3.eu-west-1.amazonaws.com/b.c/k");
  EXPECT_EQ(s3_url(settings("", "cn-north-1"), "s3://b/k"),
            "https://b.s3.cn-north-1.amazonaws.com.cn/k");
}

TEST(S3Url, EncodesAllThatIsSigned) {
  EXPECT_EQ(encoded_key("a/b=c:d@e+f g~h-i_j.k\xc3\xbc"), "a/b%3Dc%3Ad%40e%2Bf%20g~h-i_j.k%C3%BC");
  EXPECT_EQ(encoded_query("a/b+c="), "a%2Fb%2Bc%3D");
  EXPECT_EQ(s3_key("s3://b//lead/x"), "lead/x");
  EXPECT_EQ(s3_bucket("s3://b/x"), "s3://b/");
}

TEST(S3Answers, TellWhetherToTryAgain) {
  using Outcome = Delivery::Outcome;
  const auto outcome = [](long status, const char* code) {
    HttpResponse response;
    response.status = status;
    response.body = std::string("<Error><Code>") + code + "</Code></Error>";
    return meaning_of(response).outcome;
  };
  EXPECT_EQ(outcome(200, ""), Outcome::done);
  EXPECT_EQ(outcome(0, ""), Outcome::later);
  EXPECT_EQ(outcome(503, "SlowDown"), Outcome::later);
  // Ours by their numbers, but they pass.
  for (const char* code :
       {"RequestTimeout", "BadDigest", "IncompleteBody", "XAmzContentSHA256Mismatch",
        "RequestTimeTooSkewed", "ExpiredToken", "TokenRefreshRequired", "ThrottlingException",
        "QuotaExceeded", "XMinioAdminBucketQuotaExceeded", "TemporaryRedirect"}) {
    EXPECT_EQ(outcome(400, code), Outcome::later) << code;
    EXPECT_EQ(outcome(403, code), Outcome::later) << code;
  }
  for (const char* code :
       {"AccessDenied", "AllAccessDisabled", "AccountProblem", "UserSuspended",
        "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch", "PermanentRedirect",
        "AuthorizationHeaderMalformed", "NoSuchBucket", "InvalidBucketName", "KeyTooLongError",
        "EntityTooLarge", "EntityTooSmall", "MissingContentLength", "InvalidArgument", ""}) {
    EXPECT_EQ(outcome(403, code), Outcome::refused) << code;
  }
  EXPECT_EQ(outcome(501, "NotImplemented"), Outcome::refused);
  EXPECT_EQ(outcome(503, "ServiceUnavailable"), Outcome::later);
  EXPECT_EQ(outcome(409, "OperationAborted"), Outcome::later);
  // Without a code: a proxy's.
  for (const long status : {307L, 408L, 409L, 423L, 425L, 429L, 500L, 502L, 503L, 504L, 507L, 509L})
    EXPECT_EQ(outcome(status, ""), Outcome::later) << status;
  for (const long status : {301L, 400L, 401L, 403L, 404L, 405L, 411L, 412L, 413L, 501L, 505L})
    EXPECT_EQ(outcome(status, ""), Outcome::refused) << status;
}

// After some of them the thousands of others that wait are not asked for.
TEST(S3Answers, AKeyThatMayNotIsOfThePlace) {
  HttpResponse response;
  response.status = 403;
  response.body = "<Error><Code>AccessDenied</Code></Error>";
  EXPECT_TRUE(meaning_of(response).is_of_place);
}

TEST(S3Answers, SayWhatToDo) {
  HttpResponse response;
  response.status = 403;
  response.body = "<Error><Code>QuotaExceeded</Code></Error>";
  EXPECT_EQ(meaning_of(response).what,
            "HTTP 403 QuotaExceeded: make room there, or raise the quota");
  response.status = 507;
  response.body = "";
  EXPECT_EQ(meaning_of(response).what, "HTTP 507: make room there, or raise the quota");
}

TEST(XmlText, FindsElements) {
  const char* xml = "<R><U><Id>a&amp;&lt;b</Id></U><U><Id>c</Id></U><Id>cut";
  EXPECT_EQ(element(xml, "Id"), "a&<b");
  EXPECT_EQ(elements(xml, "U").size(), 2u);
  EXPECT_EQ(element(xml, "None"), "");
  EXPECT_EQ(element(as_xml("x"), "x"), "");
  EXPECT_EQ(element("<E>" + as_xml("\"e&'<>\"") + "</E>", "E"), "\"e&'<>\"");
}

TEST(Digest, IsSha256) {
  EXPECT_EQ(sha256_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

}  // namespace
}  // namespace traceagent::tools
