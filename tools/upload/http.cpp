#include "tools/upload/http.hpp"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <new>
#include <stdexcept>

namespace traceagent::tools {

namespace {

constexpr std::size_t most_body_bytes = 1 << 20;

struct Body {
  const HttpRequest& request;
  std::uint64_t position = 0;
};

std::size_t read_body(char* to, std::size_t size, std::size_t count, void* self) {
  auto& body = *static_cast<Body*>(self);
  const std::uint64_t left = body.request.size - body.position;
  const std::size_t wanted = std::min<std::uint64_t>(left, size * count);
  const auto from = static_cast<off_t>(body.request.offset + body.position);
  ssize_t got = 0;
  do {
    got = pread(body.request.fd, to, wanted, from);
  } while (got < 0 && errno == EINTR);
  if (got < 0 || (got == 0 && wanted > 0)) return CURL_READFUNC_ABORT;
  body.position += static_cast<std::uint64_t>(got);
  return static_cast<std::size_t>(got);
}

// Where libcurl sends it again on another connection.
int seek_body(void* self, curl_off_t offset, int origin) {
  if (origin != SEEK_SET || offset < 0) return CURL_SEEKFUNC_FAIL;
  static_cast<Body*>(self)->position = static_cast<std::uint64_t>(offset);
  return CURL_SEEKFUNC_OK;
}

// No exception passes through libcurl, which is C: 0 ends the request.
std::size_t take_body(char* bytes, std::size_t size, std::size_t count, void* self) try {
  auto& body = static_cast<HttpResponse*>(self)->body;
  const std::size_t room = most_body_bytes - std::min(most_body_bytes, body.size());
  body.append(bytes, std::min(size * count, room));
  return size * count;
} catch (const std::bad_alloc&) {
  return 0;
}

std::size_t take_header(char* bytes, std::size_t size, std::size_t count, void* self) try {
  std::string line(bytes, size * count);
  while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.pop_back();
  const std::size_t colon = line.find(':');
  if (colon != std::string::npos) {
    std::string name = line.substr(0, colon);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const std::size_t value = std::min(line.find_first_not_of(' ', colon + 1), line.size());
    static_cast<HttpResponse*>(self)->headers[name] = line.substr(value);
  }
  return size * count;
} catch (const std::bad_alloc&) {
  return 0;
}

using Headers = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

// All of them: without one the server would refuse for good what lacks memory for a moment.
Headers list_of(const std::vector<std::string>& lines) {
  Headers headers(nullptr, curl_slist_free_all);
  for (const std::string& line : lines) {
    curl_slist* const longer = curl_slist_append(headers.get(), line.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    (void)headers.release();
    headers.reset(longer);
  }
  return headers;
}

void set_method(CURL* curl, const HttpRequest& request, Body& body) {
  if (request.method == "PUT") {
    curl_easy_setopt(curl, CURLOPT_UPLOAD, 1L);
    curl_easy_setopt(curl, CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(request.size));
    curl_easy_setopt(curl, CURLOPT_READFUNCTION, read_body);
    curl_easy_setopt(curl, CURLOPT_READDATA, &body);
    curl_easy_setopt(curl, CURLOPT_SEEKFUNCTION, seek_body);
    curl_easy_setopt(curl, CURLOPT_SEEKDATA, &body);
  } else if (request.method == "POST") {
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, request.body.c_str());
  } else if (request.method == "HEAD") {
    curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  } else if (request.method != "GET") {
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, request.method.c_str());
  }
}

// Ceph answers nothing at all while its disks are full.
std::string problem_of(CURL* curl, CURLcode code, long standstill_s) {
  curl_off_t connected_us = 0;
  curl_easy_getinfo(curl, CURLINFO_PRETRANSFER_TIME_T, &connected_us);
  if (code != CURLE_OPERATION_TIMEDOUT || connected_us == 0) return curl_easy_strerror(code);
  return "the server stood still for " + std::to_string(standstill_s) +
         " s: look whether it is full, or busy";
}

}  // namespace

Http::Http() : curl_(curl_easy_init(), curl_easy_cleanup) {
  if (!curl_) throw std::runtime_error("upload: libcurl cannot be used");
}

HttpResponse Http::send(const HttpRequest& request) {
  CURL* const curl = curl_.get();
  curl_easy_reset(curl);  // connections stay
  HttpResponse response;
  Body body{request};
  const Headers headers = list_of(request.headers);
  curl_easy_setopt(curl, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(curl, CURLOPT_PATH_AS_IS, 1L);
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT,
                   std::min(request.connect_timeout_s, request.standstill_s));
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, request.standstill_s);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response);
  if (const char* bundle = std::getenv("AWS_CA_BUNDLE"); bundle != nullptr && *bundle != '\0') {
    curl_easy_setopt(curl, CURLOPT_CAINFO, bundle);
  }
  if (request.is_direct) curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  if (!request.sigv4.empty()) {
    curl_easy_setopt(curl, CURLOPT_AWS_SIGV4, request.sigv4.c_str());
    curl_easy_setopt(curl, CURLOPT_USERPWD, request.key_and_secret.c_str());
  }
  set_method(curl, request, body);
  const CURLcode code = curl_easy_perform(curl);
  if (code == CURLE_OK) {
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.status);
  } else {
    response.problem = problem_of(curl, code, request.standstill_s);
  }
  return response;
}

}  // namespace traceagent::tools
