#include "agent/trace/merge_lines.hpp"

#include "agent/trace/json_text.hpp"

namespace traceagent::trace {

namespace {
constexpr std::size_t head_bytes = 64;  // separator, prefix and a number
}  // namespace

char* MergedLines::put_separator(char* to) {
  *to = ',';
  to += first_ ? 0 : 1;
  first_ = false;
  *to++ = '\n';
  return to;
}

void MergedLines::write_metadata_event(std::string_view text) {
  char separator[2];
  const char* end = put_separator(separator);
  file_.append({separator, static_cast<std::size_t>(end - separator)});
  file_.append(text);
}

void MergedLines::write_event(const TraceLine& line, std::int64_t absolute_ns) {
  // Wraps rather than overflows: a damaged base must not be undefined behaviour.
  const auto ts_ns = static_cast<std::int64_t>(static_cast<std::uint64_t>(absolute_ns) -
                                               static_cast<std::uint64_t>(base_ns_));
  if (line.text.size() > OutputFile::max_reserve_bytes - head_bytes) {
    write_long_event(line, ts_ns);
    return;
  }
  char* const start = file_.reserve(line.text.size() + head_bytes);
  char* to = put_separator(start);
  if (ts_ns == line.ts_ns) {
    to = put_literal(to, line.text);
  } else {
    to = put_literal(to, ts_prefix);
    to = put_microseconds(to, ts_ns);
    to = put_literal(to, line.after_ts);
  }
  file_.commit(static_cast<std::size_t>(to - start));
}

void MergedLines::write_long_event(const TraceLine& line, std::int64_t ts_ns) {
  char head[head_bytes];
  char* to = put_literal(put_separator(head), ts_prefix);
  to = put_microseconds(to, ts_ns);
  file_.append({head, static_cast<std::size_t>(to - head)});
  file_.append(line.after_ts);
}

}  // namespace traceagent::trace
