#include "tools/import/member_value.hpp"

#include <algorithm>

namespace traceagent::tools {

bool MemberValue::pass() {
  const char c = *window_.begin();
  if (c == '"' || c == '{' || c == '[') return pass_bracketed(false);
  while (window_.size() > 0 || window_.fill()) {
    const char* at = window_.begin();
    while (*at > ' ' && *at != ',' && *at != '}' && *at != ']') ++at;
    const bool ends = at < window_.end();
    copy_until(at);
    if (ends) return true;
  }
  return false;
}

bool MemberValue::pass_bracketed(bool leaves_nested_out) {
  int depth = 0;
  std::size_t copied = 0;
  std::uint64_t nested_begin = 0;
  bool in_string = false;
  bool escaped = false;
  while (window_.size() > 0 || window_.fill()) {
    for (const char* at = window_.begin(); at != window_.end(); ++at) {
      const int outside = depth;
      if (in_string) {
        in_string = escaped || *at != '"';
        escaped = !escaped && *at == '\\';
      } else {
        in_string = *at == '"';
        // '[' and '{', ']' and '}' differ in this bit alone.
        depth += (*at | 0x20) == '{' ? 1 : 0;
        depth -= (*at | 0x20) == '}' ? 1 : 0;
      }
      if (*at == '\0') {
        copy_until(at);
        return false;
      }
      if (depth <= 0 && !in_string) {
        copy_until(at + 1);
        return true;
      }
      if (!leaves_nested_out || outside + depth != 3) continue;
      if (depth == 2) {
        copy_until(at);
        copied = text_.size();
        nested_begin = window_.offset();
      } else {
        copy_until(at + 1);
        leave_out_nested(copied, nested_begin);
      }
    }
    copy_until(window_.end());
  }
  return false;
}

// If it was not copied whole: from `begin` of the text up to here, and from `copied` of the text_.
void MemberValue::leave_out_nested(std::size_t copied, std::uint64_t begin) {
  const std::uint64_t bytes = window_.offset() - begin;
  if (text_.size() - copied == bytes) return;
  const std::string size = "\"left out: " + std::to_string(bytes) + " bytes\"";
  if (copied + size.size() <= most_bytes) text_.replace(copied, std::string::npos, size);
}

void MemberValue::copy_until(const char* end) {
  const std::size_t room = most_bytes - std::min(most_bytes, text_.size());
  text_.append(window_.begin(), std::min(room, static_cast<std::size_t>(end - window_.begin())));
  window_.drop_until(end);
}

}  // namespace traceagent::tools
