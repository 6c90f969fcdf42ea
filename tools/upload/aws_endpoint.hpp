#pragma once

#include <string>

#include "tools/upload/aws_profile.hpp"

namespace traceagent::tools {

struct AwsEndpoint {
  std::string url;      // empty: Amazon's own
  std::string problem;  // one line
};

// Of a service ("s3", "sts"), from the first place that has it: AWS_ENDPOINT_URL_<SERVICE>,
// AWS_ENDPOINT_URL, the profile's services, its endpoint_url. None of them where
// AWS_IGNORE_CONFIGURED_ENDPOINT_URLS, or the profile, says so.
AwsEndpoint aws_endpoint(const std::string& service, const AwsProfile& profile);

}  // namespace traceagent::tools
