#pragma once
// Uploads to an S3-compatible server: whole up to some size, in parts above it.

#include <memory>
#include <string>

#include "tools/upload/aws_settings.hpp"
#include "tools/upload/delivery.hpp"
#include "tools/upload/http.hpp"
#include "tools/upload/patience.hpp"

namespace traceagent::tools {

struct PartSizes {
  std::uint64_t multipart_from = std::uint64_t{64} << 20;
  std::uint64_t part = std::uint64_t{16} << 20;
};

// The key in a URL and in the signature: all but letters, digits, "-_.~" and "/" as %XX.
std::string encoded_key(std::string_view key);

// What an answer of the server means. Its secrets and ours stay out of the text.
Delivery meaning_of(const HttpResponse& response);

class S3 {
 public:
  // A request that stands still for longer than patience is left is given up, but for its first
  // seconds.
  S3(PartSizes sizes, Patience& patience) : sizes_(sizes), patience_(patience) {}

  // `upload` is kept up to date with what is noted. An upload that was begun before is looked for
  // first: what is there whole is not sent again, parts that are there are not either.
  Delivery deliver(Upload& upload, const std::string& path, const Note& note);
  // Parts that nobody will join are not seen in a bucket, and are paid for. Those that the server
  // cannot be told of now are noted for another time.
  Delivery abandon(Upload& upload, const Note& note);

 private:
  struct Source {
    int fd = -1;
    std::uint64_t bytes = 0;
    std::string sha256;
  };

  HttpResponse ask(const std::string& method, const Upload& upload, const std::string& query,
                   const std::string& body = {});
  HttpResponse put(const Upload& upload, const std::string& query, const Source& source,
                   std::uint64_t offset, std::uint64_t size, const std::string& sha256);
  HttpRequest request(const std::string& method, const Upload& upload, const std::string& query,
                      const std::string& payload_sha256);
  void refresh();
  // Keys are there.
  Delivery ready();
  HttpResponse send(HttpRequest request);
  bool is_there(const Upload& upload, const Source& source, Delivery& delivery);
  Delivery why_forbidden(const Upload& upload, long status);
  static void note_begin(const Upload& upload, const Note& note);
  Delivery deliver_whole(const Upload& upload, const Source& source);
  Delivery deliver_in_parts(Upload& upload, const Source& source, const Note& note);
  Delivery begin_parts(Upload& upload, const Note& note);
  Delivery send_parts(Upload& upload, const Source& source, const Note& note);
  Delivery join_parts(Upload& upload, const Note& note);
  Delivery ask_to_abandon(const Upload& upload, const std::string& id);
  void abandon_unknown(Upload& upload, const Note& note);
  std::uint64_t part_bytes(std::uint64_t bytes) const;

  const PartSizes sizes_;
  Patience& patience_;
  Http http_;
  AwsSettings settings_;
};

}  // namespace traceagent::tools
