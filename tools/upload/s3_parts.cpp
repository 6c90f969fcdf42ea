// Of one file that goes up in parts.
#include <algorithm>

#include "tools/upload/digest.hpp"
#include "tools/upload/s3.hpp"
#include "tools/upload/s3_url.hpp"
#include "tools/upload/xml_text.hpp"

namespace traceagent::tools {

namespace {

using Outcome = Delivery::Outcome;
constexpr std::uint64_t most_parts = 10'000;

}  // namespace

std::uint64_t S3::part_bytes(std::uint64_t bytes) const {
  return std::max(sizes_.part, bytes / most_parts + 1);
}

// Of an uploader that was killed before it could note the id.
void S3::abandon_unknown(Upload& upload, const Note& note) {
  const std::string key = s3_key(upload.target);
  const HttpResponse list = send([&] {
    HttpRequest ask = request("GET", upload, {}, empty_sha256);
    ask.url =
        s3_url(settings_, s3_bucket(upload.target)) + "?prefix=" + encoded_query(key) + "&uploads=";
    return ask;
  }());
  if (list.status != 200) return;  // it may be forbidden
  for (const std::string& entry : elements(list.body, "Upload")) {
    if (element(entry, "Key") != key) continue;
    upload.multipart = element(entry, "UploadId");
    abandon(upload, note);
  }
}

Delivery S3::ask_to_abandon(const Upload& upload, const std::string& id) {
  const HttpResponse response = ask("DELETE", upload, "uploadId=" + encoded_query(id));
  const std::string code = element(response.body, "Code");
  if (response.status == 404) return {};  // they, or with the bucket all, are gone
  if (code == "AccessDenied") {
    return {Outcome::refused, "HTTP 403 AccessDenied: allow this key s3:AbortMultipartUpload"};
  }
  return meaning_of(response);
}

Delivery S3::abandon(Upload& upload, const Note& note) {
  const auto record = [&](const char* what, const std::string& id) {
    note(trace::JsonObject().add(what, upload.id).add("upload", id));
  };
  if (!upload.multipart.empty()) {
    record("abandon", upload.multipart);
    upload.to_abandon.insert(upload.multipart);
    upload.forget_parts();
  }
  if (upload.to_abandon.empty()) return {};
  if (Delivery delivery = ready(); delivery.outcome != Outcome::done) return delivery;
  while (!upload.to_abandon.empty()) {
    const std::string id = *upload.to_abandon.begin();
    Delivery delivery = ask_to_abandon(upload, id);
    if (delivery.outcome != Outcome::done) return delivery;
    record("abandoned", id);
    upload.to_abandon.erase(id);
  }
  return {};
}

Delivery S3::begin_parts(Upload& upload, const Note& note) {
  if (upload.is_begun) abandon_unknown(upload, note);
  const HttpResponse response = ask("POST", upload, "uploads=");
  Delivery delivery = meaning_of(response);
  if (delivery.outcome != Outcome::done) return delivery;
  upload.forget_parts();
  upload.multipart = element(response.body, "UploadId");
  if (upload.multipart.empty()) return {Outcome::later, "the answer has no UploadId"};
  upload.part_bytes = part_bytes(upload.bytes);
  note(trace::JsonObject()
           .add("multipart", upload.id)
           .add("upload", upload.multipart)
           .add("part_bytes", upload.part_bytes));
  return {};
}

Delivery S3::send_parts(Upload& upload, const Source& source, const Note& note) {
  const std::uint64_t part = upload.part_bytes;
  int number = 1;
  for (std::uint64_t offset = 0; offset < source.bytes; offset += part, ++number) {
    if (upload.parts.count(number) != 0) continue;
    const std::uint64_t size = std::min(part, source.bytes - offset);
    const HttpResponse response =
        put(upload,
            "partNumber=" + std::to_string(number) + "&uploadId=" + encoded_query(upload.multipart),
            source, offset, size, sha256_of_file(source.fd, offset, size));
    Delivery delivery = meaning_of(response);
    if (response.status == 404 && element(response.body, "Code") == "NoSuchUpload") {
      abandon(upload, note);
      return {Outcome::later, "the server has forgotten the parts"};
    }
    if (delivery.outcome != Outcome::done) return delivery;
    const auto etag = response.headers.find("etag");
    if (etag == response.headers.end()) return {Outcome::later, "a part's answer has no ETag"};
    upload.parts[number] = etag->second;
    // Not by those that are sent once more because all were refused as a whole: that has no end.
    if (upload.parts.size() > upload.most_parts) {
      upload.most_parts = upload.parts.size();
      patience_.note_success();
    }
    note(
        trace::JsonObject().add("part", upload.id).add("number", number).add("etag", etag->second));
  }
  return {};
}

Delivery S3::join_parts(Upload& upload, const Note& note) {
  std::string list = "<CompleteMultipartUpload>";
  for (const auto& [number, etag] : upload.parts) {
    list += "<Part><PartNumber>" + std::to_string(number) + "</PartNumber><ETag>" + as_xml(etag) +
            "</ETag></Part>";
  }
  list += "</CompleteMultipartUpload>";
  upload.is_join_sent = true;
  const HttpResponse response =
      ask("POST", upload, "uploadId=" + encoded_query(upload.multipart), list);
  Delivery delivery = meaning_of(response);
  const std::string code = element(response.body, "Code");
  // 200 was sent before it was known; and where parts are refused, all of them are sent again.
  if (delivery.outcome == Outcome::done && !code.empty()) delivery = {Outcome::later, code};
  if (delivery.outcome == Outcome::refused || code == "NoSuchUpload") {
    abandon(upload, note);
    delivery = {Outcome::later, delivery.what};
  }
  return delivery;
}

Delivery S3::deliver_in_parts(Upload& upload, const Source& source, const Note& note) {
  Delivery delivery;
  // Parts of another size would not fit behind each other.
  if (upload.part_bytes == 0) abandon(upload, note);
  if (upload.multipart.empty()) delivery = begin_parts(upload, note);
  if (delivery.outcome == Outcome::done) delivery = send_parts(upload, source, note);
  if (delivery.outcome == Outcome::done) delivery = join_parts(upload, note);
  if (delivery.outcome == Outcome::done) upload.multipart.clear();
  return delivery;
}

}  // namespace traceagent::tools
