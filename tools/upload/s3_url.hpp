#pragma once

#include <string>
#include <string_view>

#include "tools/upload/aws_settings.hpp"

namespace traceagent::tools {

// Of s3://bucket/key.
std::string s3_key(std::string_view target);
// s3://bucket/
std::string s3_bucket(std::string_view target);

// As SigV4 wants it, in a query too: all but letters, digits and "-_.~" as %XX.
std::string encoded_query(std::string_view text);

// An endpoint of the user's own has the bucket in the path. Amazon's has it in the host's name,
// unless it has a dot, which the server's certificate would not cover.
std::string s3_url(const AwsSettings& settings, std::string_view target);

}  // namespace traceagent::tools
