// What the server's answers mean for us: done, again later, or somebody's repair.
#include <array>
#include <string_view>

#include "tools/upload/s3.hpp"
#include "tools/upload/xml_text.hpp"

namespace traceagent::tools {

namespace {

using Outcome = Delivery::Outcome;

struct Remedy {
  std::string_view code;
  std::string_view remedy;
};
constexpr std::array<Remedy, 7> remedies = {
    {{"AccessDenied", "allow this key s3:PutObject and s3:GetObject"},
     {"InvalidAccessKeyId", "set AWS_ACCESS_KEY_ID, or AWS_PROFILE"},
     {"SignatureDoesNotMatch", "set AWS_SECRET_ACCESS_KEY, AWS_REGION"},
     {"AuthorizationHeaderMalformed", "set AWS_REGION"},
     {"PermanentRedirect", "set AWS_REGION to the bucket's"},
     {"NoSuchBucket", "make the bucket, or name another"},
     {"RequestTimeTooSkewed", "set this machine's clock"}}};

// Codes that pass, though their number says that they are our fault.
constexpr std::array<std::string_view, 5> passing = {"RequestTimeout", "ExpiredToken", "SlowDown",
                                                     "XAmzContentSHA256Mismatch", "IncompleteBody"};

bool passes(long status, std::string_view code) {
  for (const std::string_view each : passing) {
    if (code == each) return true;
  }
  return status >= 500 || status == 408 || status == 409 || status == 429;
}

}  // namespace

Delivery meaning_of(const HttpResponse& response) {
  if (response.status >= 200 && response.status < 300) return {};
  if (response.status == 0) return {Outcome::later, response.problem};
  const std::string code = element(response.body, "Code");
  std::string what = "HTTP " + std::to_string(response.status);
  if (!code.empty()) what += " " + code;
  if (passes(response.status, code)) return {Outcome::later, what};
  for (const Remedy& each : remedies) {
    if (code == each.code) what += ": " + std::string(each.remedy);
  }
  return {Outcome::refused, what};
}

}  // namespace traceagent::tools
