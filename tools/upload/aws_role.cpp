// The token service's AssumeRole, signed with other keys, and AssumeRoleWithWebIdentity, not
// signed: the token speaks for itself.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tools/upload/aws_credentials.hpp"
#include "tools/upload/s3.hpp"
#include "tools/upload/s3_url.hpp"
#include "tools/upload/xml_text.hpp"

namespace traceagent::tools {

namespace {

AwsCredentials failed(const AwsRole& role, const std::string& why) {
  AwsCredentials none;
  none.problem = role.arn + ": " + why;
  return none;
}

std::string first_line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
  return line;
}

std::string service_of(const AwsRole& role) {
  if (!role.endpoint.empty()) {
    return role.endpoint.ends_with('/') ? role.endpoint : role.endpoint + "/";
  }
  const char* domain = role.region.starts_with("cn-") ? ".amazonaws.com.cn/" : ".amazonaws.com/";
  return "https://sts." + role.region + domain;
}

std::string form_of(const AwsRole& role, const std::string& token) {
  std::ostringstream form;
  form << "Action=" << (token.empty() ? "AssumeRole" : "AssumeRoleWithWebIdentity")
       << "&Version=2011-06-15&RoleArn=" << encoded_query(role.arn) << "&RoleSessionName="
       << encoded_query(role.session_name.empty() ? "traceagent-" + std::to_string(getpid())
                                                  : role.session_name);
  if (!role.duration_s.empty()) form << "&DurationSeconds=" << encoded_query(role.duration_s);
  if (!token.empty()) {
    form << "&WebIdentityToken=" << encoded_query(token);
  } else if (!role.external_id.empty()) {
    form << "&ExternalId=" << encoded_query(role.external_id);
  }
  return form.str();
}

}  // namespace

AwsCredentials role_credentials(const AwsRole& role, Http& http) {
  std::string token;
  if (!role.token_file.empty()) {
    token = first_line_of(role.token_file);
    if (token.empty()) {
      return failed(role, role.token_file + ": no token: see web_identity_token_file");
    }
  }
  HttpRequest request;
  request.standstill_s = 20;
  request.method = "POST";
  request.url = service_of(role);
  request.body = form_of(role, token);
  request.headers.push_back("Content-Type: application/x-www-form-urlencoded");
  if (token.empty()) {
    if (!role.source.session_token.empty()) {
      request.headers.push_back("x-amz-security-token: " + role.source.session_token);
    }
    request.sigv4 = "aws:amz:" + role.region + ":sts";
    request.key_and_secret = role.source.key + ":" + role.source.secret;
  }
  const HttpResponse response = http.send(request);
  AwsCredentials found;
  found.key = element(response.body, "AccessKeyId");
  found.secret = element(response.body, "SecretAccessKey");
  found.session_token = element(response.body, "SessionToken");
  found.expires = aws_time(element(response.body, "Expiration"));
  if (response.status == 200 && found.is_complete()) return found;
  const std::string code = element(response.body, "Code");
  const std::string what = response.status == 0
                               ? response.problem
                               : "HTTP " + std::to_string(response.status) + " " + code;
  found = failed(role, "the token service gives no keys: " + what);
  found.may_pass = meaning_of(response).outcome == Delivery::Outcome::later;
  return found;
}

}  // namespace traceagent::tools
