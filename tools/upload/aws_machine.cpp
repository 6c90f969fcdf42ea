// Keys that others than files give: a command, a container's service, a machine's.
#include <simdjson.h>
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <fstream>

#include "tools/upload/aws_credentials.hpp"
#include "tools/upload/child_process.hpp"

namespace traceagent::tools {

namespace {

constexpr auto longest_process = std::chrono::minutes(1);

HttpRequest get(const std::string& url) {
  HttpRequest request;
  request.standstill_s = 20;
  request.url = url;
  request.connect_timeout_s = 2;
  request.is_direct = true;
  return request;
}

// One that is there, or was named, and gives none now: it may be busy, as when all of a node's
// processes ask at once.
AwsCredentials no_keys(const std::string& who, const HttpResponse& response) {
  AwsCredentials none;
  none.problem = who + " gives no keys: " +
                 (response.status == 0     ? response.problem
                  : response.status == 200 ? "its answer has none"
                                           : "HTTP " + std::to_string(response.status));
  none.may_pass = true;
  return none;
}

AwsCredentials taken_from(const std::string& who, const HttpResponse& response) {
  AwsCredentials found = response.status == 200 ? credentials_in(response.body) : AwsCredentials();
  return found.is_complete() ? found : no_keys(who, response);
}

}  // namespace

AwsCredentials credentials_in(const std::string& json) {
  AwsCredentials found;
  simdjson::dom::parser parser;
  simdjson::dom::element answer;
  if (parser.parse(json).get(answer) != simdjson::SUCCESS) return found;
  const auto text = [&](const char* name) {
    std::string_view value;
    return answer[name].get(value) == simdjson::SUCCESS ? std::string(value) : std::string();
  };
  found.key = text("AccessKeyId");
  found.secret = text("SecretAccessKey");
  found.session_token = text("Token");
  if (found.session_token.empty()) found.session_token = text("SessionToken");
  found.expires = aws_time(text("Expiration"));
  return found;
}

namespace {

// ": NAME", or nothing where the shell would take the first word for more than a program: it may
// set a variable, which may be a secret.
std::string program_in(const std::string& command) {
  const std::string word = command.substr(0, command.find_first_of(" \t"));
  const bool is_name = std::all_of(word.begin(), word.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || std::strchr("_./+-", c) != nullptr;
  });
  return is_name && !word.empty() ? ": " + word : "";
}

}  // namespace

AwsCredentials process_credentials(const std::string& command) {
  const ChildEnd end = run_child({"/bin/sh", "-c", command}, longest_process, true);
  AwsCredentials found = end.is_success() ? credentials_in(end.said) : AwsCredentials();
  if (found.is_complete()) return found;
  // What it said stays out: it may be half a secret. So do its words but for a program's name.
  found = {};
  found.problem =
      "credential_process" + program_in(command) + ": " +
      (end.is_success() ? "its output has no AccessKeyId and SecretAccessKey" : end.problem()) +
      ": run it by hand";
  found.may_pass = true;
  return found;
}

AwsCredentials container_credentials(Http& http) {
  const std::string relative = environment_variable("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  std::string url = environment_variable("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  // By name: the address may be a secret too.
  const std::string who = std::string("the container's service (AWS_CONTAINER_CREDENTIALS_") +
                          (relative.empty() ? "FULL" : "RELATIVE") + "_URI)";
  if (!relative.empty()) url = "http://169.254.170.2" + relative;
  if (url.empty()) return {};
  HttpRequest request = get(url);
  std::string token = environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  std::ifstream file(environment_variable("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"));
  if (file) std::getline(file, token);
  if (!token.empty()) request.headers.push_back("Authorization: " + token);
  return taken_from(who, http.send(request));
}

AwsCredentials machine_credentials(Http& http) {
  const std::string disabled = environment_variable("AWS_EC2_METADATA_DISABLED");
  if (strcasecmp(disabled.c_str(), "true") == 0) return {};
  std::string service = environment_variable("AWS_EC2_METADATA_SERVICE_ENDPOINT");
  if (service.empty()) service = "http://169.254.169.254";
  while (service.ends_with('/')) service.pop_back();
  HttpRequest ask = get(service + "/latest/api/token");
  ask.method = "PUT";
  ask.headers.push_back("X-aws-ec2-metadata-token-ttl-seconds: 300");
  const HttpResponse token = http.send(ask);
  const std::string who = "the machine's metadata service";
  if (token.status == 429 || token.status >= 500) return no_keys(who, token);
  if (token.status != 200) return {};  // no machine of Amazon's
  const std::string roles = service + "/latest/meta-data/iam/security-credentials/";
  HttpRequest request = get(roles);
  request.headers.push_back("X-aws-ec2-metadata-token: " + token.body);
  const HttpResponse role = http.send(request);
  if (role.status == 404) return {};  // it has no role
  if (role.status != 200) return no_keys(who, role);
  request.url = roles + role.body.substr(0, role.body.find('\n'));
  return taken_from(who, http.send(request));
}

}  // namespace traceagent::tools
