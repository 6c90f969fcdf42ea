#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tools/upload/aws_profile.hpp"
#include "tools/upload/http.hpp"

namespace traceagent::tools {

struct AwsCredentials {
  std::string key, secret, session_token;
  std::optional<std::chrono::system_clock::time_point> expires;
  std::string problem;    // one line, where a source was named and gives none
  bool may_pass = false;  // the same may go well another time

  bool is_complete() const noexcept { return !key.empty() && !secret.empty(); }
};

// From the first place that has them:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN
//   2. AWS_ROLE_ARN with AWS_WEB_IDENTITY_TOKEN_FILE, where no profile is named
//   3. the profile AWS_PROFILE, AWS_DEFAULT_PROFILE, or "default": its role_arn (with
//      source_profile, credential_source or web_identity_token_file), its keys, its
//      credential_process
//   4. the container's address, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or _FULL_URI
//   5. the machine's metadata service, version 2, unless AWS_EC2_METADATA_DISABLED is true
// Not: single sign-on, mfa_serial; the problem says what to do instead.
AwsCredentials aws_credentials(const AwsProfile& profile, const std::string& region, Http& http);

// The sources of which it is made.

AwsCredentials environment_credentials();
AwsCredentials container_credentials(Http& http);
AwsCredentials machine_credentials(Http& http);
// Runs it with a shell, for a minute at most.
AwsCredentials process_credentials(const std::string& command);

// What Amazon's token service, or one that speaks as it does, gives for a role.
struct AwsRole {
  std::string arn, session_name, external_id, duration_s;
  std::string token_file;  // of a web identity; else `source` signs
  AwsCredentials source;
  std::string region, endpoint;
};
AwsCredentials role_credentials(const AwsRole& role, Http& http);

// {"AccessKeyId": …}, as containers, machines and credential processes answer.
AwsCredentials credentials_in(const std::string& json);
// 2026-11-21T14:37:01Z, or a day from now, if that is earlier; nothing: it is no such time.
std::optional<std::chrono::system_clock::time_point> aws_time(const std::string& text);

}  // namespace traceagent::tools
