#pragma once

#include <chrono>
#include <string>

#include "tools/upload/http.hpp"

namespace traceagent::tools {

struct AwsSettings {
  std::string endpoint;  // empty: Amazon's own
  std::string region;
  std::string key, secret, session_token;
  std::string problem;  // one line: there are none
  std::chrono::steady_clock::time_point read_at;
};

// From the usual places, first come first served: the variables AWS_*; the profile (AWS_PROFILE) in
// ~/.aws/credentials and ~/.aws/config; the container's address (AWS_CONTAINER_CREDENTIALS_*); the
// machine's metadata service, version 2. Not: single sign-on, credential_process, web identity.
AwsSettings aws_settings(Http& http);

}  // namespace traceagent::tools
