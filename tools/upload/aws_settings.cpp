#include "tools/upload/aws_settings.hpp"

#include <algorithm>

#include "tools/upload/aws_credentials.hpp"
#include "tools/upload/aws_endpoint.hpp"

namespace traceagent::tools {

namespace {

constexpr auto use_of_lasting_keys = std::chrono::seconds(60);  // somebody may change the file

void set_if_empty(std::string& field, const std::string& value) {
  if (field.empty()) field = value;
}

}  // namespace

std::chrono::nanoseconds time_of_use(std::chrono::nanoseconds until_expiry) {
  constexpr std::chrono::nanoseconds shortest = std::chrono::seconds(5);
  constexpr std::chrono::nanoseconds longest = std::chrono::minutes(15);
  return std::clamp(until_expiry - std::chrono::seconds(60), shortest, longest);
}

bool may_keep(const AwsSettings& old, const AwsSettings& fresh) {
  if (fresh.problem.empty() || old.key.empty()) return false;
  if (!old.expires) return fresh.may_pass;
  return std::chrono::system_clock::now() < *old.expires;
}

AwsSettings aws_settings(Http& http) {
  const std::string named = named_profile();
  const AwsProfile profile(named.empty() ? "default" : named);
  AwsSettings settings;
  AwsEndpoint endpoint = aws_endpoint("s3", profile);
  settings.endpoint = std::move(endpoint.url);
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  settings.region = environment_variable("AWS_REGION");
  set_if_empty(settings.region, environment_variable("AWS_DEFAULT_REGION"));
  set_if_empty(settings.region, profile.setting("region"));
  set_if_empty(settings.region, "us-east-1");
  AwsCredentials found = aws_credentials(profile, settings.region, http);
  settings.fresh_until =
      std::chrono::steady_clock::now() +
      (found.expires ? time_of_use(*found.expires - std::chrono::system_clock::now())
                     : use_of_lasting_keys);
  settings.problem = endpoint.problem.empty() ? found.problem : endpoint.problem;
  settings.may_pass = found.may_pass && endpoint.problem.empty();
  if (settings.problem.empty() && !found.is_complete()) {
    settings.problem =
        "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
  }
  settings.expires = found.expires;
  settings.key = std::move(found.key);
  settings.secret = std::move(found.secret);
  settings.session_token = std::move(found.session_token);
  return settings;
}

}  // namespace traceagent::tools
