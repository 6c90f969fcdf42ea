#include "tools/upload/aws_credentials.hpp"

#include <algorithm>
#include <ctime>

#include "tools/upload/aws_endpoint.hpp"

namespace traceagent::tools {

namespace {

constexpr int most_roles = 5;  // that lead to each other

AwsCredentials failed(const std::string& problem) {
  AwsCredentials none;
  none.problem = problem;
  return none;
}

AwsCredentials of_profile(const AwsProfile& profile, const std::string& region, Http& http,
                          int roles);

AwsCredentials keys_of(const AwsProfile& profile) {
  AwsCredentials found;
  found.key = profile.setting("aws_access_key_id");
  found.secret = profile.setting("aws_secret_access_key");
  found.session_token = profile.setting("aws_session_token");
  return found;
}

AwsCredentials source_of(const AwsProfile& profile, const std::string& region, Http& http,
                         int roles) {
  const std::string where = "profile " + profile.name() + ": ";
  const std::string source = profile.setting("source_profile");
  if (source == profile.name()) return keys_of(profile);
  if (!source.empty()) return of_profile(AwsProfile(source), region, http, roles + 1);
  const std::string named = profile.setting("credential_source");
  if (named == "Environment") return environment_credentials();
  if (named == "EcsContainer") return container_credentials(http);
  if (named == "Ec2InstanceMetadata") return machine_credentials(http);
  if (named.empty()) return failed(where + "role_arn has no source: add source_profile");
  return failed(where + "credential_source " + named +
                " is not known: name Environment, EcsContainer or Ec2InstanceMetadata");
}

AwsCredentials of_role(const AwsProfile& profile, const std::string& region, Http& http,
                       int roles) {
  const std::string where = "profile " + profile.name() + ": ";
  if (roles >= most_roles) return failed(where + "source_profile leads in a circle: break it");
  if (!profile.setting("mfa_serial").empty()) {
    return failed(where +
                  "mfa_serial asks a person: export the role's keys (aws configure "
                  "export-credentials --format env)");
  }
  AwsRole role;
  role.arn = profile.setting("role_arn");
  role.session_name = profile.setting("role_session_name");
  role.external_id = profile.setting("external_id");
  role.duration_s = profile.setting("duration_seconds");
  role.token_file = profile.setting("web_identity_token_file");
  role.region = region;
  const AwsEndpoint endpoint = aws_endpoint("sts", profile);
  if (!endpoint.problem.empty()) return failed(endpoint.problem);
  role.endpoint = endpoint.url;
  if (role.token_file.empty()) role.source = source_of(profile, region, http, roles);
  if (!role.source.problem.empty()) return role.source;
  if (role.token_file.empty() && !role.source.is_complete()) {
    return failed(where + "the source of role_arn has no keys: see source_profile");
  }
  return role_credentials(role, http);
}

AwsCredentials of_profile(const AwsProfile& profile, const std::string& region, Http& http,
                          int roles) {
  if (!profile.setting("role_arn").empty()) return of_role(profile, region, http, roles);
  if (AwsCredentials keys = keys_of(profile); !keys.key.empty()) return keys;
  const std::string command = profile.setting("credential_process");
  if (!command.empty()) return process_credentials(command);
  if (!profile.setting("sso_session").empty() || !profile.setting("sso_start_url").empty()) {
    return failed("profile " + profile.name() +
                  ": single sign-on is not supported: add a profile with credential_process = aws "
                  "configure export-credentials --profile " +
                  profile.name() + " and name it in AWS_PROFILE");
  }
  return {};
}

AwsCredentials of_web_identity(const std::string& region, Http& http, const AwsProfile& profile) {
  AwsRole role;
  role.arn = environment_variable("AWS_ROLE_ARN");
  role.token_file = environment_variable("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (role.arn.empty() || role.token_file.empty()) return {};
  role.session_name = environment_variable("AWS_ROLE_SESSION_NAME");
  role.region = region;
  const AwsEndpoint endpoint = aws_endpoint("sts", profile);
  if (!endpoint.problem.empty()) return failed(endpoint.problem);
  role.endpoint = endpoint.url;
  return role_credentials(role, http);
}

AwsCredentials of_empty_file(const AwsProfile& profile) {
  AwsCredentials none = failed(profile.empty_file() + ": it is empty: write the keys into it");
  none.may_pass = true;
  return none;
}

}  // namespace

std::optional<std::chrono::system_clock::time_point> aws_time(const std::string& text) {
  std::tm parts{};
  if (strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts) == nullptr) return std::nullopt;
  // Times of year 9999 do exist, and do not fit into nanoseconds. Nobody waits for that long.
  const std::time_t latest = std::time(nullptr) + 24 * 3600;
  return std::chrono::system_clock::from_time_t(std::clamp<std::time_t>(timegm(&parts), 0, latest));
}

AwsCredentials environment_credentials() {
  AwsCredentials found;
  found.key = environment_variable("AWS_ACCESS_KEY_ID");
  if (found.key.empty()) return found;
  found.secret = environment_variable("AWS_SECRET_ACCESS_KEY");
  found.session_token = environment_variable("AWS_SESSION_TOKEN");
  return found;
}

AwsCredentials aws_credentials(const AwsProfile& profile, const std::string& region, Http& http) {
  AwsCredentials found = environment_credentials();
  if (!found.key.empty()) return found;
  const std::string named = named_profile();
  if (named.empty()) found = of_web_identity(region, http, profile);
  const auto is_found = [&] { return !found.key.empty() || !found.problem.empty(); };
  if (!is_found()) found = of_profile(profile, region, http, 0);
  // A profile that is known may leave the keys to the container or the machine.
  if (!is_found() && !named.empty() && !profile.is_known()) {
    if (!profile.empty_file().empty()) return of_empty_file(profile);
    return failed("AWS_PROFILE: " + named + ": no such profile in ~/.aws: name another");
  }
  if (!is_found()) found = container_credentials(http);
  if (!is_found()) found = machine_credentials(http);
  if (!is_found() && !profile.empty_file().empty()) return of_empty_file(profile);
  return found;
}

}  // namespace traceagent::tools
