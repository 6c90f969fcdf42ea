#include "tools/upload/s3_url.hpp"

#include <algorithm>

#include "tools/upload/s3.hpp"

namespace traceagent::tools {

namespace {

constexpr std::string_view scheme = "s3://";

std::string_view without_scheme(std::string_view target) {
  if (target.starts_with(scheme)) target.remove_prefix(scheme.size());
  return target;
}

std::string encoded(std::string_view text, bool keeps_slashes) {
  constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                          (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.' || c == '~' ||
                          (c == '/' && keeps_slashes);
    if (is_plain) {
      out += c;
    } else {
      out += {'%', digits[byte >> 4], digits[byte & 15]};
    }
  }
  return out;
}

std::string bucket_name(std::string_view target) {
  target = without_scheme(target);
  return std::string(target.substr(0, target.find('/')));
}

}  // namespace

std::string s3_key(std::string_view target) {
  target = without_scheme(target);
  target.remove_prefix(std::min(target.find('/'), target.size()));
  target.remove_prefix(std::min(target.find_first_not_of('/'), target.size()));
  return std::string(target);
}

std::string s3_bucket(std::string_view target) {
  return std::string(scheme) + bucket_name(target) + "/";
}

std::string encoded_key(std::string_view key) { return encoded(key, true); }
std::string encoded_query(std::string_view text) { return encoded(text, false); }

std::string s3_url(const AwsSettings& settings, std::string_view target) {
  const std::string bucket = bucket_name(target);
  const std::string key = encoded_key(s3_key(target));
  if (!settings.endpoint.empty()) {
    return settings.endpoint + "/" + encoded_query(bucket) + "/" + key;
  }
  const std::string domain =
      settings.region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com";
  const std::string host = "s3." + settings.region + domain;
  if (bucket.find('.') != std::string::npos) return "https://" + host + "/" + bucket + "/" + key;
  return "https://" + bucket + "." + host + "/" + key;
}

}  // namespace traceagent::tools
