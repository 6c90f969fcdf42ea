#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace traceagent::tools {

using AwsTable = std::map<std::string, std::string>;

struct AwsSection {
  AwsTable settings;
  std::map<std::string, AwsTable> tables;  // what is indented below "s3 ="
};

// The sections of ~/.aws/config or credentials, by what stands in their brackets, in the file's
// order. Read as Amazon's own tools (botocore, by Python's configparser) do: a line that is
// indented deeper than a setting goes on with it, by spaces or tabs. None where there is no file.
using AwsFile = std::vector<std::pair<std::string, AwsSection>>;
AwsFile aws_file(const std::string& path);

}  // namespace traceagent::tools
