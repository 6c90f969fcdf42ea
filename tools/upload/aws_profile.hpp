#pragma once

#include <string>

#include "tools/upload/aws_file.hpp"

namespace traceagent::tools {

// What stands under a profile's name in ~/.aws/credentials, and, where it says nothing, in
// ~/.aws/config (AWS_SHARED_CREDENTIALS_FILE and AWS_CONFIG_FILE name others). Never a key from one
// file with a secret from the other.
class AwsProfile {
 public:
  explicit AwsProfile(std::string name);

  const std::string& name() const noexcept { return name_; }
  // Empty where there is none.
  std::string setting(const std::string& key) const;
  bool is_known() const noexcept { return !settings_.empty(); }

  // Of the section [services NAME] that the profile's `services` names.
  std::string service_setting(const std::string& service, const std::string& key) const;
  // The file of keys is there and says nothing: somebody may be writing it anew. Its path, or "".
  const std::string& empty_file() const noexcept { return empty_file_; }
  // One line: it names services that are not there.
  std::string services_problem() const;

 private:
  const std::string name_;
  std::string empty_file_;
  AwsTable settings_;
  AwsSection services_;
};

// AWS_PROFILE, or AWS_DEFAULT_PROFILE; empty where none is named.
std::string named_profile();

// The value of an environment variable, or "".
std::string environment_variable(const char* name);

}  // namespace traceagent::tools
