#include "tools/upload/aws_profile.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

#include "tests/unit/trace/scratch_folder.hpp"
#include "tools/upload/aws_endpoint.hpp"

namespace traceagent::tools {
namespace {

// As the tests' own files have it; what botocore reads out of the same text was compared by hand.
class AwsProfileTest : public testing::Test {
 protected:
  AwsProfileTest() {
    set("AWS_CONFIG_FILE", scratch_ / "config");
    set("AWS_SHARED_CREDENTIALS_FILE", scratch_ / "credentials");
    for (const char* name : {"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_ENDPOINT_URL",
                             "AWS_ENDPOINT_URL_S3", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"}) {
      unsetenv(name);
    }
  }
  ~AwsProfileTest() override {
    for (const std::string& name : is_set_) unsetenv(name.c_str());
  }

  void set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    is_set_.insert(name);
  }
  void config(const std::string& text) { std::ofstream(scratch_ / "config") << text; }
  void credentials(const std::string& text) { std::ofstream(scratch_ / "credentials") << text; }
  static std::string region_of(const std::string& name) {
    return AwsProfile(name).setting("region");
  }
  static std::string s3_of(const std::string& name) {
    return aws_endpoint("s3", AwsProfile(name)).url;
  }

  const trace::ScratchFolder scratch_;
  std::set<std::string> is_set_;
};

TEST_F(AwsProfileTest, IsFoundByItsNameHoweverItIsWritten) {
  config(
      "[ default ]\nregion = bare\n[profile   two]\nregion=2\n[profile \"two x\"]\nregion : 2x\n"
      "[profile 'q']\nREGION = q\n[profile a b]\nregion = ab\n[two]\nregion = none\n");
  EXPECT_EQ(region_of("default"), "bare");
  EXPECT_EQ(region_of("two"), "2");
  EXPECT_EQ(region_of("two x"), "2x");
  EXPECT_EQ(region_of("q"), "q");
  EXPECT_FALSE(AwsProfile("a b").is_known()) << "such a name needs quotes";
  config("[profile default]\nregion = long\n");
  EXPECT_EQ(region_of("default"), "long");
  config("[profile default]\nregion = long\n[default]\nregion = bare\n");
  EXPECT_EQ(region_of("default"), "bare") << "the last one";
}

TEST_F(AwsProfileTest, IsNamedByEitherVariable) {
  EXPECT_EQ(named_profile(), "");
  set("AWS_DEFAULT_PROFILE", "d");
  EXPECT_EQ(named_profile(), "d");
  set("AWS_PROFILE", "p");
  EXPECT_EQ(named_profile(), "p");
}

TEST_F(AwsProfileTest, WhatIsIndentedBelongsToTheSettingAboveIt) {
  config(
      "[default]\ns3 =\n\tendpoint_url = http://tab\n\tregion = tab\n  # more\n\n"
      "    addressing_style = path\nregion = right\n"
      "[profile deep]\n  region = deep\n  output = json\n"
      "[profile long]\ncredential_process = one\n  two\n");
  EXPECT_EQ(region_of("default"), "right");
  EXPECT_EQ(AwsProfile("default").setting("endpoint_url"), "");
  EXPECT_EQ(AwsProfile("default").setting("addressing_style"), "");
  EXPECT_EQ(s3_of("default"), "") << "botocore has no endpoint from there";
  EXPECT_EQ(region_of("deep"), "deep") << "nothing is above it";
  EXPECT_EQ(AwsProfile("deep").setting("output"), "json");
  EXPECT_EQ(AwsProfile("long").setting("credential_process"), "one two");
}

TEST_F(AwsProfileTest, ServicesHaveEndpointsOfTheirOwn) {
  config(
      "[default]\nservices = loc\nendpoint_url = http://all\n"
      "[services loc]\ns3 =\n  endpoint_url = http://s3\nsts =\n\tregion = x\n"
      "[profile other]\nservices = none\n");
  EXPECT_EQ(s3_of("default"), "http://s3");
  EXPECT_EQ(aws_endpoint("sts", AwsProfile("default")).url, "http://all");
  const AwsEndpoint other = aws_endpoint("s3", AwsProfile("other"));
  EXPECT_EQ(other.url, "");
  EXPECT_EQ(other.problem,
            "profile other: services = none: there is no [services none]: add it to ~/.aws/config");
  set("AWS_ENDPOINT_URL", "http://variable");
  EXPECT_EQ(s3_of("default"), "http://variable");
  EXPECT_EQ(aws_endpoint("s3", AwsProfile("other")).problem, "");
  set("AWS_ENDPOINT_URL_S3", "http://variable-s3");
  EXPECT_EQ(s3_of("default"), "http://variable-s3");
  EXPECT_EQ(aws_endpoint("sts", AwsProfile("default")).url, "http://variable");
}

TEST_F(AwsProfileTest, EndpointsAreIgnoredWhereThatIsSaid) {
  config("[default]\nendpoint_url = http://all\n");
  set("AWS_ENDPOINT_URL_S3", "http://variable");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "True");
  EXPECT_EQ(s3_of("default"), "");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "false");
  EXPECT_EQ(s3_of("default"), "http://variable");
  set("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "");
  config("[default]\nendpoint_url = http://all\nignore_configured_endpoint_urls = true\n");
  EXPECT_EQ(s3_of("default"), "");
}

TEST_F(AwsProfileTest, CredentialsComeFirstAndAreNotMixed) {
  credentials("[two x]\naws_access_key_id = k\nregion = there\n");
  config("[profile \"two x\"]\naws_secret_access_key = other\nregion = here\noutput = text\n");
  const AwsProfile profile("two x");
  EXPECT_EQ(profile.setting("aws_access_key_id"), "k");
  EXPECT_EQ(profile.setting("aws_secret_access_key"), "");
  EXPECT_EQ(profile.setting("region"), "there");
  EXPECT_EQ(profile.setting("output"), "text");
}

}  // namespace
}  // namespace traceagent::tools
