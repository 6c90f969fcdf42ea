// What the server's answers mean for us: done, again later, or somebody's repair.
#include <array>
#include <string_view>

#include "tools/upload/s3.hpp"
#include "tools/upload/xml_text.hpp"

namespace traceagent::tools {

namespace {

using Outcome = Delivery::Outcome;

struct Answer {
  std::string_view code;
  Outcome outcome;
  std::string_view remedy;
  bool is_of_place = false;  // of the keys or the bucket, not of the object
};

constexpr std::string_view make_room = "make room there, or raise the quota";
constexpr std::string_view set_region = "set AWS_REGION to the bucket's";
constexpr std::string_view ask_owner = "ask the owner of the account";

// Codes whose HTTP status does not say enough: of S3, and of servers that speak its language. What
// mends itself, or is mended at the server, is tried again: the job's uploader lives for days.
constexpr std::array answers = {
    // No room. Ceph and MinIO tell it as our fault (403 and 400).
    Answer{"QuotaExceeded", Outcome::later, make_room},
    Answer{"XMinioAdminBucketQuotaExceeded", Outcome::later, make_room},
    Answer{"XMinioStorageFull", Outcome::later, make_room},
    Answer{"InsufficientStorage", Outcome::later, make_room},
    // Too much at a time.
    Answer{"RequestTimeout", Outcome::later, ""}, Answer{"SlowDown", Outcome::later, ""},
    Answer{"Throttling", Outcome::later, ""}, Answer{"ThrottlingException", Outcome::later, ""},
    Answer{"ThrottledException", Outcome::later, ""},
    Answer{"RequestThrottled", Outcome::later, ""},
    Answer{"RequestThrottledException", Outcome::later, ""},
    Answer{"RequestLimitExceeded", Outcome::later, ""},
    Answer{"BandwidthLimitExceeded", Outcome::later, ""},
    Answer{"TooManyRequests", Outcome::later, ""},
    // Damaged or cut on its way.
    Answer{"BadDigest", Outcome::later, ""}, Answer{"IncompleteBody", Outcome::later, ""},
    Answer{"XAmzContentSHA256Mismatch", Outcome::later, ""},
    // A new bucket's name is not known everywhere yet: we follow no redirection.
    Answer{"TemporaryRedirect", Outcome::later, ""},
    // Time servers set clocks; whoever issues temporary keys renews them.
    Answer{"RequestTimeTooSkewed", Outcome::later, "set this machine's clock"},
    Answer{"RequestExpired", Outcome::later, "set this machine's clock"},
    Answer{"ExpiredToken", Outcome::later, "renew the credentials"},
    Answer{"TokenRefreshRequired", Outcome::later, "renew the credentials"},
    // Of the token service; whoever mounts a web identity's token renews it.
    Answer{"ExpiredTokenException", Outcome::later, "renew the credentials"},
    Answer{"IDPCommunicationError", Outcome::later, ""},
    // Nothing of this changes unless somebody changes it.
    Answer{"AccessDenied", Outcome::refused, "allow this key s3:PutObject and s3:GetObject", true},
    Answer{"AllAccessDisabled", Outcome::refused, ask_owner, true},
    Answer{"AccountProblem", Outcome::refused, ask_owner, true},
    Answer{"NotSignedUp", Outcome::refused, ask_owner, true},
    Answer{"UserSuspended", Outcome::refused, ask_owner, true},
    Answer{"InvalidAccessKeyId", Outcome::refused, "set AWS_ACCESS_KEY_ID, or AWS_PROFILE", true},
    Answer{"InvalidToken", Outcome::refused, "set AWS_SESSION_TOKEN to the key's", true},
    Answer{"SignatureDoesNotMatch", Outcome::refused, "set AWS_SECRET_ACCESS_KEY, AWS_REGION",
           true},
    Answer{"AuthorizationHeaderMalformed", Outcome::refused, "set AWS_REGION", true},
    Answer{"IllegalLocationConstraintException", Outcome::refused, set_region, true},
    Answer{"PermanentRedirect", Outcome::refused, set_region, true},
    Answer{"NoSuchBucket", Outcome::refused, "make the bucket, or name another", true},
    Answer{"InvalidBucketName", Outcome::refused, "name a bucket that S3 allows", true},
    Answer{"KeyTooLongError", Outcome::refused, "name a shorter key: 1,024 bytes at most"},
    Answer{"EntityTooLarge", Outcome::refused, "upload it by hand: a smaller --multipart-from"},
    Answer{"EntityTooSmall", Outcome::refused, "upload it by hand: a larger --part-size"},
    Answer{"MethodNotAllowed", Outcome::refused, "set AWS_ENDPOINT_URL to the S3 server's"},
    Answer{"NotImplemented", Outcome::refused, "the server lacks what an upload takes"}};

// All others, and answers without a code, as those of a proxy before the server.
Answer by_status(long status) {
  if (status == 507) return {"", Outcome::later, make_room};
  const bool is_never = status == 501 || status == 505;
  const bool passes = status == 307 || status == 408 || status == 409 || status == 423 ||
                      status == 425 || status == 429 || status >= 500;
  return {"", passes && !is_never ? Outcome::later : Outcome::refused, ""};
}

Answer answer_of(long status, std::string_view code) {
  for (const Answer& each : answers) {
    if (code == each.code) return each;
  }
  return by_status(status);
}

}  // namespace

Delivery meaning_of(const HttpResponse& response) {
  if (response.status >= 200 && response.status < 300) return {};
  if (response.status == 0) return {Outcome::later, response.problem};
  const std::string code = element(response.body, "Code");
  std::string what = "HTTP " + std::to_string(response.status);
  if (!code.empty()) what += " " + code;
  const Answer answer = answer_of(response.status, code);
  if (!answer.remedy.empty()) what += ": " + std::string(answer.remedy);
  return {answer.outcome, what, answer.is_of_place};
}

}  // namespace traceagent::tools
