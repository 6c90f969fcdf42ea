#include "tools/upload/aws_profile.hpp"

#include <cstdlib>
#include <fstream>
#include <string_view>

namespace traceagent::tools {

namespace {

using Section = std::map<std::string, std::string>;

std::string trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1));
}

// Indented lines belong to a setting's own table (s3 = …), which is not read.
Section section_of(const std::string& path, const std::string& wanted) {
  Section section;
  std::ifstream file(path);
  bool is_in = false;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line.front() == '#' || line.front() == ';' || line.front() == ' ') continue;
    if (line.front() == '[') {
      is_in = trimmed(line.substr(1, line.find(']') - 1)) == wanted;
      continue;
    }
    const std::size_t equals = line.find('=');
    if (is_in && equals != std::string::npos) {
      section[trimmed(line.substr(0, equals))] = trimmed(line.substr(equals + 1));
    }
  }
  return section;
}

std::string users_file(const char* name, const char* default_name) {
  const std::string named = environment_variable(name);
  return named.empty() ? environment_variable("HOME") + "/.aws/" + default_name : named;
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

AwsProfile::AwsProfile(std::string name)
    : name_(std::move(name)),
      settings_(section_of(users_file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), name_)) {
  const bool has_key = settings_.count("aws_access_key_id") != 0;
  Section config = section_of(users_file("AWS_CONFIG_FILE", "config"),
                              name_ == "default" ? name_ : "profile " + name_);
  if (has_key) {
    for (const char* key : {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}) {
      config.erase(key);
    }
  }
  settings_.merge(config);
}

std::string AwsProfile::setting(const std::string& key) const {
  const auto at = settings_.find(key);
  return at == settings_.end() ? "" : at->second;
}

}  // namespace traceagent::tools
