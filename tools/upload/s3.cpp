#include "tools/upload/s3.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "tools/upload/digest.hpp"
#include "tools/upload/open_file.hpp"
#include "tools/upload/s3_url.hpp"
#include "tools/upload/xml_text.hpp"

namespace traceagent::tools {

namespace {

using Outcome = Delivery::Outcome;
constexpr const char* sum_header = "x-amz-meta-traceagent-sha256";
constexpr long least_standstill_s = 3;

bool is_forbidden(const HttpResponse& response) {
  return response.status == 401 || response.status == 403;
}

}  // namespace

void S3::refresh() {
  if (std::chrono::steady_clock::now() < settings_.fresh_until) return;
  AwsSettings fresh = aws_settings(http_);
  const bool has_failed = !fresh.problem.empty();
  if (!may_keep(settings_, fresh)) settings_ = std::move(fresh);
  constexpr auto pause = std::chrono::seconds(5);
  if (has_failed) settings_.fresh_until = std::chrono::steady_clock::now() + pause;
}

Delivery S3::ready() {
  refresh();
  if (settings_.problem.empty()) return {};
  const bool is_refused = !settings_.may_pass;
  return {is_refused ? Outcome::refused : Outcome::later, settings_.problem, is_refused};
}

HttpRequest S3::request(const std::string& method, const Upload& upload, const std::string& query,
                        const std::string& payload_sha256) {
  refresh();  // parts of one file may go up for longer than the keys live
  HttpRequest request;
  request.method = method;
  request.url = s3_url(settings_, upload.target) + (query.empty() ? "" : "?" + query);
  // libcurl 7.88 signs this header but does not make it.
  request.headers.push_back("x-amz-content-sha256: " + payload_sha256);
  if (!settings_.session_token.empty()) {
    request.headers.push_back("x-amz-security-token: " + settings_.session_token);
  }
  request.sigv4 = "aws:amz:" + settings_.region + ":s3";
  request.key_and_secret = settings_.key + ":" + settings_.secret;
  return request;
}

HttpResponse S3::send(HttpRequest request) {
  // The keys have ended since ready(), and their source is away: without keys the server would
  // refuse for good.
  if (HttpResponse none; !settings_.problem.empty()) {
    none.problem = settings_.problem;
    return none;
  }
  const auto left = std::chrono::duration_cast<std::chrono::seconds>(patience_.left());
  request.standstill_s = std::clamp<long>(left.count(), least_standstill_s, request.standstill_s);
  HttpResponse response = http_.send(request);
  // Temporary credentials are renewed where they came from.
  if (response.status == 403 || response.status == 400) settings_.fresh_until = {};
  return response;
}

HttpResponse S3::ask(const std::string& method, const Upload& upload, const std::string& query,
                     const std::string& body) {
  HttpRequest asked = request(method, upload, query, body.empty() ? empty_sha256 : sha256_of(body));
  asked.body = body;
  // What the parts will be one file with.
  if (query == "uploads=") {
    asked.headers.push_back(std::string(sum_header) + ": " + upload.sha256);
    asked.headers.push_back("Content-Type: application/json");
  } else if (method == "POST") {
    asked.headers.push_back("Content-Type: application/xml");
  }
  return send(asked);
}

HttpResponse S3::put(const Upload& upload, const std::string& query, const Source& source,
                     std::uint64_t offset, std::uint64_t size, const std::string& sha256) {
  HttpRequest put = request("PUT", upload, query, sha256);
  if (query.empty()) {
    put.headers.push_back(std::string(sum_header) + ": " + source.sha256);
    put.headers.push_back("Content-Type: application/json");
  }
  put.fd = source.fd;
  put.offset = offset;
  put.size = size;
  return send(put);
}

// An answer to HEAD has no body that would say why; one to GET has.
Delivery S3::why_forbidden(const Upload& upload, long status) {
  HttpRequest first_byte = request("GET", upload, {}, empty_sha256);
  first_byte.headers.push_back("Range: bytes=0-0");
  const HttpResponse answer = send(std::move(first_byte));
  const std::string code = element(answer.body, "Code");
  const bool is_answered = is_forbidden(answer) || answer.status == 400;
  const bool says_why = is_answered && !code.empty() && code != "AccessDenied";
  if (answer.status == 0 || says_why) return meaning_of(answer);
  // It stays so, and each try would send the whole again.
  return {Outcome::refused, "HTTP " + std::to_string(status) +
                                " to HEAD: allow this key s3:GetObject: without it nobody can tell "
                                "whether the object is whole"};
}

// The server has checked the payload's sum; this asks whether the whole is what it keeps.
bool S3::is_there(const Upload& upload, const Source& source, Delivery& delivery) {
  HttpResponse head = ask("HEAD", upload, {});
  // Temporary keys may have ended since the object was sent; there are new ones by now.
  const bool are_temporary = !settings_.session_token.empty() || settings_.expires;
  if (is_forbidden(head) && are_temporary) head = ask("HEAD", upload, {});
  if (is_forbidden(head)) {
    delivery = why_forbidden(upload, head.status);
    return false;
  }
  delivery = meaning_of(head);
  if (delivery.outcome != Outcome::done) {
    delivery.outcome = Outcome::later;
    return false;
  }
  const auto header = [&](const char* name) {
    const auto at = head.headers.find(name);
    return at == head.headers.end() ? std::string() : at->second;
  };
  const bool is_whole = header("content-length") == std::to_string(source.bytes) &&
                        header(sum_header) == source.sha256;
  delivery.what = header("etag");
  return is_whole;
}

// Without it the next uploader sends the file again. On a full disk it is sent nevertheless: what
// has arrived makes room.
void S3::note_begin(const Upload& upload, const Note& note) try {
  note(trace::JsonObject()
           .add("begin", upload.id)
           .add("bytes", upload.bytes)
           .add("sha256", upload.sha256));
} catch (const std::runtime_error&) {
  return;
}

Delivery S3::deliver_whole(const Upload& upload, const Source& source) {
  return meaning_of(put(upload, {}, source, 0, source.bytes, source.sha256));
}

Delivery S3::deliver(Upload& upload, const std::string& path, const Note& note) {
  const OpenFile file(path, O_RDONLY);
  struct stat facts {};
  if (file.fd() < 0 || fstat(file.fd(), &facts) != 0) return {Outcome::later, std::strerror(errno)};
  if (Delivery delivery = ready(); delivery.outcome != Outcome::done) return delivery;
  Source source{file.fd(), static_cast<std::uint64_t>(facts.st_size), {}};
  source.sha256 = sha256_of_file(source.fd, 0, source.bytes);
  Delivery delivery;
  const bool is_same = upload.sha256 == source.sha256 && upload.bytes == source.bytes;
  if (upload.is_begun && !is_same) abandon(upload, note);
  if (upload.is_begun && is_same && is_there(upload, source, delivery)) {
    // The answer was lost: they are joined, and there are none to be removed.
    if (upload.is_join_sent) upload.forget_parts();
    abandon(upload, note);
    return delivery;
  }
  upload.bytes = source.bytes;
  upload.sha256 = source.sha256;
  if (!upload.is_begun || !is_same) note_begin(upload, note);
  const bool in_parts = !upload.multipart.empty() || source.bytes >= sizes_.multipart_from;
  delivery = in_parts ? deliver_in_parts(upload, source, note) : deliver_whole(upload, source);
  upload.is_begun = true;
  if (delivery.outcome != Outcome::done) return delivery;
  if (!is_there(upload, source, delivery) && delivery.outcome == Outcome::done) {
    delivery = {Outcome::later, "another object is under its key"};
  }
  return delivery;
}

}  // namespace traceagent::tools
