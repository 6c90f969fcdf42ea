#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "tools/upload/http.hpp"

namespace traceagent::tools {

struct AwsSettings {
  std::string endpoint;  // empty: Amazon's own
  std::string region;
  std::string key, secret, session_token;
  std::string problem;    // one line: there are no credentials
  bool may_pass = false;  // a service was asked, and may answer another time
  std::chrono::steady_clock::time_point fresh_until;  // then they are to be read again
  std::optional<std::chrono::system_clock::time_point> expires;
};

// The region from AWS_REGION, AWS_DEFAULT_REGION, or the profile; the endpoint: aws_endpoint.hpp;
// the keys: aws_credentials.hpp.
AwsSettings aws_settings(Http& http);

// Where none come now: those that were had may do, unless they have expired.
bool may_keep(const AwsSettings& old, const AwsSettings& fresh);

// How long keys may be used that expire so late: until a minute before, to be on the safe side
// while a request is on its way; never for longer than 15 minutes, nor asked for all the time.
std::chrono::nanoseconds time_of_use(std::chrono::nanoseconds until_expiry);

}  // namespace traceagent::tools
