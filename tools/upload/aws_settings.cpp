#include "tools/upload/aws_settings.hpp"

#include <simdjson.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string_view>

namespace traceagent::tools {

namespace {

using Section = std::map<std::string, std::string>;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void set_if_empty(std::string& field, const std::string& value) {
  if (field.empty()) field = value;
}

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
  const std::string named = variable(name);
  return named.empty() ? variable("HOME") + "/.aws/" + default_name : named;
}

void take_section(AwsSettings& settings, Section section) {
  set_if_empty(settings.region, section["region"]);
  set_if_empty(settings.endpoint, section["endpoint_url"]);
  if (!settings.key.empty()) return;  // never a key from here with a secret from there
  settings.key = section["aws_access_key_id"];
  settings.secret = section["aws_secret_access_key"];
  settings.session_token = section["aws_session_token"];
}

void take_profile(AwsSettings& settings) {
  std::string profile = variable("AWS_PROFILE");
  if (profile.empty()) profile = "default";
  take_section(settings,
               section_of(users_file("AWS_SHARED_CREDENTIALS_FILE", "credentials"), profile));
  const bool is_default = profile == "default";
  take_section(settings, section_of(users_file("AWS_CONFIG_FILE", "config"),
                                    is_default ? profile : "profile " + profile));
}

void take_answer(AwsSettings& settings, const HttpResponse& response) {
  if (response.status != 200) return;
  simdjson::dom::parser parser;
  simdjson::dom::element answer;
  if (parser.parse(response.body).get(answer) != simdjson::SUCCESS) return;
  const auto text = [&](const char* name) {
    std::string_view value;
    return answer[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
  };
  settings.key = text("AccessKeyId");
  settings.secret = text("SecretAccessKey");
  settings.session_token = text("Token");
}

HttpRequest get(const std::string& url) {
  HttpRequest request;
  request.url = url;
  request.connect_timeout_s = 2;
  return request;
}

void take_containers(AwsSettings& settings, Http& http) {
  const std::string relative = variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string url = variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (!relative.empty()) url = "http://169.254.170.2" + relative;
  if (url.empty()) return;
  HttpRequest request = get(url);
  std::string token = variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  std::ifstream file(variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
  if (file) std::getline(file, token);
  if (!token.empty()) request.headers.push_back("Authorization: " + token);
  take_answer(settings, http.send(request));
}

void take_machines(AwsSettings& settings, Http& http) {
  if (variable("AWS_EC2_METADATA_DISABLED") == "true") return;
  const std::string service = "http://169.254.169.254/latest/";
  HttpRequest ask = get(service + "api/token");
  ask.method = "PUT";
  ask.headers.push_back("X-aws-ec2-metadata-token-ttl-seconds: 300");
  const HttpResponse token = http.send(ask);
  if (token.status != 200) return;
  const std::string header = "X-aws-ec2-metadata-token: " + token.body;
  const std::string roles = service + "meta-data/iam/security-credentials/";
  HttpRequest request = get(roles);
  request.headers.push_back(header);
  const HttpResponse role = http.send(request);
  if (role.status != 200) return;
  request.url = roles + role.body.substr(0, role.body.find('\n'));
  take_answer(settings, http.send(request));
}

}  // namespace

AwsSettings aws_settings(Http& http) {
  AwsSettings settings;
  settings.read_at = std::chrono::steady_clock::now();
  settings.endpoint = variable("AWS_ENDPOINT_URL_S3");
  set_if_empty(settings.endpoint, variable("AWS_ENDPOINT_URL"));
  settings.region = variable("AWS_REGION");
  set_if_empty(settings.region, variable("AWS_DEFAULT_REGION"));
  settings.key = variable("AWS_ACCESS_KEY_ID");
  if (!settings.key.empty()) {
    settings.secret = variable("AWS_SECRET_ACCESS_KEY");
    settings.session_token = variable("AWS_SESSION_TOKEN");
  }
  take_profile(settings);
  if (settings.key.empty()) take_containers(settings, http);
  if (settings.key.empty()) take_machines(settings, http);
  set_if_empty(settings.region, "us-east-1");
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  if (settings.key.empty() || settings.secret.empty()) {
    settings.problem =
        "no credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE";
  }
  return settings;
}

}  // namespace traceagent::tools
