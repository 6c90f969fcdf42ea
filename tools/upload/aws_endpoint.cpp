#include "tools/upload/aws_endpoint.hpp"

#include <strings.h>

#include <algorithm>
#include <cctype>

namespace traceagent::tools {

namespace {

bool is_ignored(const AwsProfile& profile) {
  std::string said = environment_variable("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS");
  if (said.empty()) said = profile.setting("ignore_configured_endpoint_urls");
  return strcasecmp(said.c_str(), "true") == 0;
}

std::string variable_of(std::string service) {
  std::transform(service.begin(), service.end(), service.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return "AWS_ENDPOINT_URL_" + service;
}

}  // namespace

AwsEndpoint aws_endpoint(const std::string& service, const AwsProfile& profile) {
  if (is_ignored(profile)) return {};
  for (const std::string& name : {variable_of(service), std::string("AWS_ENDPOINT_URL")}) {
    if (std::string url = environment_variable(name.c_str()); !url.empty()) return {url, {}};
  }
  if (std::string problem = profile.services_problem(); !problem.empty()) return {{}, problem};
  std::string url = profile.service_setting(service, "endpoint_url");
  return {url.empty() ? profile.setting("endpoint_url") : url, {}};
}

}  // namespace traceagent::tools
