#include "tools/import/member_place.hpp"

namespace traceagent::tools {

namespace {

const char* after_spaces(const char* at) {
  while (is_json_space(*at)) ++at;
  return at;
}

// At a quote: more text may be needed to tell.
Scan scan_key(const char* at, const char* end) {
  const char* const behind = after_string(at, end);
  if (behind == nullptr) return Scan::more;
  const char* const colon = after_spaces(behind);
  if (colon >= end) return Scan::more;
  return *colon == ':' ? Scan::whole : Scan::broken;
}

}  // namespace

bool begins_with_key(TextWindow& window) {
  Scan scan = Scan::more;
  do {
    scan = scan_key(window.begin(), window.end());
  } while (scan == Scan::more && window.size() < TextWindow::first_bytes && window.fill());
  return scan == Scan::whole;
}

Scan scan_member_value(const char*& at, const char* end) {
  if (*at == '{' || *at == '[') return scan_nested(at, end);
  if (*at != '"') return Scan::whole;
  const char* const behind = after_string(at, end);
  if (behind == nullptr) return Scan::more;
  at = after_spaces(behind);
  if (at >= end) return Scan::more;
  return *at == ',' || *at == '}' || *at == '"' ? Scan::whole : Scan::broken;
}

bool find_member(TextWindow& window, std::uint64_t last) {
  bool may_begin = false;
  while (window.offset() < last && (window.size() > 0 || window.fill())) {
    const char c = *window.begin();
    if (c == '\0' || (c == '"' && may_begin && begins_with_key(window))) return c != '\0';
    may_begin = c == ',' || c == '\n' || (may_begin && is_json_space(c));
    window.drop(1);
  }
  return false;
}

}  // namespace traceagent::tools
