#include "tools/upload/aws_profile.hpp"

#include <sys/stat.h>

#include <cstdlib>

#include "config/command_words.hpp"

namespace traceagent::tools {

namespace {

std::string users_file(const char* name, const char* default_name) {
  const std::string home = environment_variable("HOME");
  const std::string named = environment_variable(name);
  if (named.empty()) return home + "/.aws/" + default_name;
  return named.starts_with("~/") ? home + named.substr(1) : named;
}

// [profile NAME], with blanks and quotes as a shell has them. The last one is taken.
AwsSection named_section(const AwsFile& file, const std::string& kind, const std::string& name) {
  AwsSection found;
  const bool may_be_bare = kind == "profile" && name == "default";
  for (const auto& [title, section] : file) {
    const std::vector<std::string> words = config::split_command(title).words;
    const bool is_named = words.size() == 2 && words.front() == kind && words.back() == name;
    if (is_named || (may_be_bare && title == name)) found = section;
  }
  return found;
}

AwsTable credentials_of(const std::string& name, std::string& empty_file) {
  const std::string path = users_file("AWS_SHARED_CREDENTIALS_FILE", "credentials");
  const AwsFile file = aws_file(path);
  struct stat facts {};
  const bool is_there = stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
  if (file.empty() && is_there) empty_file = path;
  for (const auto& [title, section] : file) {
    if (title == name) return section.settings;
  }
  return {};
}

}  // namespace

std::string environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string named_profile() {
  const std::string named = environment_variable("AWS_PROFILE");
  return named.empty() ? environment_variable("AWS_DEFAULT_PROFILE") : named;
}

AwsProfile::AwsProfile(std::string name)
    : name_(std::move(name)), settings_(credentials_of(name_, empty_file_)) {
  const AwsFile file = aws_file(users_file("AWS_CONFIG_FILE", "config"));
  AwsTable config = named_section(file, "profile", name_).settings;
  if (settings_.count("aws_access_key_id") != 0) {
    for (const char* key : {"aws_access_key_id", "aws_secret_access_key", "aws_session_token"}) {
      config.erase(key);
    }
  }
  settings_.merge(config);
  services_ = named_section(file, "services", setting("services"));
}

std::string AwsProfile::setting(const std::string& key) const {
  const auto at = settings_.find(key);
  return at == settings_.end() ? "" : at->second;
}

std::string AwsProfile::service_setting(const std::string& service, const std::string& key) const {
  const auto table = services_.tables.find(service);
  if (table == services_.tables.end()) return {};
  const auto at = table->second.find(key);
  return at == table->second.end() ? "" : at->second;
}

std::string AwsProfile::services_problem() const {
  const std::string named = setting("services");
  const bool is_there = !services_.settings.empty();
  if (named.empty() || is_there) return {};
  return "profile " + name_ + ": services = " + named + ": there is no [services " + named +
         "]: add it to ~/.aws/config";
}

}  // namespace traceagent::tools
