#pragma once

#include <map>
#include <string>

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

 private:
  const std::string name_;
  std::map<std::string, std::string> settings_;
};

// The value of an environment variable, or "".
std::string environment_variable(const char* name);

}  // namespace traceagent::tools
