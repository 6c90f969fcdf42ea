#pragma once

#include <curl/curl.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace traceagent::tools {

struct HttpRequest {
  std::string method = "GET";  // GET, HEAD, PUT, POST or DELETE
  std::string url;             // encoded
  std::vector<std::string> headers;
  std::string body;  // of a POST
  // Of a PUT: a part of a file.
  int fd = -1;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  // Empty: not signed. Else what libcurl's CURLOPT_AWS_SIGV4 and CURLOPT_USERPWD take.
  std::string sigv4;
  std::string key_and_secret;
  // By no proxy: what answers is this machine's own, and what it is told or gives is secret.
  bool is_direct = false;
  long connect_timeout_s = 10;
  long standstill_s = 60;  // a transfer that stands still for so long is given up
};

struct HttpResponse {
  long status = 0;                             // 0: there was no answer
  std::string problem;                         // why, in libcurl's words
  std::map<std::string, std::string> headers;  // names in lower case
  std::string body;                            // its first MiB
};

// A connection that is kept between requests. Follows no redirection.
class Http {
 public:
  Http();
  HttpResponse send(const HttpRequest& request);

 private:
  std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl_;
};

}  // namespace traceagent::tools
