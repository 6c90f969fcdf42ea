#include "agent/trace/event_writer.hpp"

#include <algorithm>
#include <cstring>

namespace traceagent::trace {

namespace {

// All that a line holds beside its texts and arguments: keys, times, ids, braces.
constexpr std::size_t frame_bytes = 256;
// Room asked for at once, so that the arguments of a usual event need no second look.
constexpr std::size_t usual_line_bytes = 2048;

}  // namespace

EventWriter::EventWriter(OutputFile& file, std::int64_t pid) : file_(file) {
  char* to = put_literal(pid_text_, ",\"pid\":");
  to = put_integer(to, pid);
  to = put_literal(to, ",\"tid\":");
  pid_text_size_ = static_cast<std::size_t>(to - pid_text_);
}

void EventWriter::grow(std::size_t size) {
  file_.commit(static_cast<std::size_t>(at_ - start_));
  size = std::max(size, usual_line_bytes);
  start_ = at_ = file_.reserve(size);
  limit_ = at_ + size;
}

char* EventWriter::begin_event(std::size_t text_bytes) {
  const std::size_t size = escaped_bound(text_bytes) + frame_bytes + usual_line_bytes;
  // Asked afresh for every event: others (document.hpp) write to the file between events.
  start_ = at_ = file_.reserve(size);
  limit_ = at_ + size;
  has_args_ = false;
  char* to = at_;
  *to = ',';
  to += first_ ? 0 : 1;
  first_ = false;
  *to++ = '\n';
  return to;
}

char* EventWriter::put_pid_tid(char* to, std::int64_t tid) const {
  std::memcpy(to, pid_text_, sizeof pid_text_);  // of constant size: cheaper than the exact one
  return put_integer(to + pid_text_size_, tid);
}

void EventWriter::open_args(char* to) { at_ = put_literal(to, ",\"args\":{"); }

void EventWriter::metadata(ArgKey name, std::int64_t tid) {
  ++metadata_events_;
  char* to = begin_event(name.text().size());
  to = put_literal(to, R"({"ph":"M","name":")");
  to = put_literal(to, name.text());
  *to++ = '"';
  open_args(put_pid_tid(to, tid));
}

void EventWriter::process_name(std::string_view name) {
  metadata("process_name");
  arg("name", name);
  end();
}

void EventWriter::process_labels(std::string_view labels) {
  metadata("process_labels");
  arg("labels", labels);
  end();
}

void EventWriter::process_sort_index(std::int64_t index) {
  metadata("process_sort_index");
  arg("sort_index", index);
  end();
}

void EventWriter::thread_name(std::int64_t tid, std::string_view name) {
  metadata("thread_name", tid);
  arg("name", name);
  end();
}

void EventWriter::thread_sort_index(std::int64_t tid, std::int64_t index) {
  metadata("thread_sort_index", tid);
  arg("sort_index", index);
  end();
}

void EventWriter::complete(std::string_view name, std::string_view category, std::int64_t tid,
                           std::int64_t ts_ns, std::int64_t dur_ns) {
  name = name.size() <= max_text_bytes ? name : shorten(name);
  char* to = begin_event(name.size() + category.size());
  to = put_literal(to, R"({"ts":)");
  to = put_microseconds(to, ts_ns);
  to = put_literal(to, R"(,"dur":)");
  to = put_microseconds(to, dur_ns);
  to = put_literal(to, R"(,"ph":"X","cat":")");
  to = put_escaped(to, category);
  to = put_literal(to, R"(","name":")");
  to = put_escaped(to, name);
  *to++ = '"';
  open_args(put_pid_tid(to, tid));
}

void EventWriter::instant(std::string_view name, std::string_view category, std::int64_t tid,
                          std::int64_t ts_ns) {
  name = name.size() <= max_text_bytes ? name : shorten(name);
  char* to = begin_event(name.size() + category.size());
  to = put_literal(to, R"({"ts":)");
  to = put_microseconds(to, ts_ns);
  to = put_literal(to, R"(,"ph":"i","s":"t","cat":")");
  to = put_escaped(to, category);
  to = put_literal(to, R"(","name":")");
  to = put_escaped(to, name);
  *to++ = '"';
  open_args(put_pid_tid(to, tid));
}

void EventWriter::counter(std::string_view name, std::string_view category, std::int64_t ts_ns) {
  name = name.size() <= max_text_bytes ? name : shorten(name);
  char* to = begin_event(name.size() + category.size());
  to = put_literal(to, R"({"ts":)");
  to = put_microseconds(to, ts_ns);
  to = put_literal(to, R"(,"ph":"C","cat":")");
  to = put_escaped(to, category);
  to = put_literal(to, R"(","name":")");
  to = put_escaped(to, name);
  *to++ = '"';
  open_args(put_pid_tid(to, 0));
}

void EventWriter::flow_start(std::string_view name, std::string_view category, std::int64_t tid,
                             std::int64_t ts_ns, std::uint64_t id) {
  flow('s', name, category, tid, ts_ns, id);
}

void EventWriter::flow_end(std::string_view name, std::string_view category, std::int64_t tid,
                           std::int64_t ts_ns, std::uint64_t id) {
  flow('f', name, category, tid, ts_ns, id);
}

void EventWriter::flow(char phase, std::string_view name, std::string_view category,
                       std::int64_t tid, std::int64_t ts_ns, std::uint64_t id) {
  name = name.size() <= max_text_bytes ? name : shorten(name);
  char* to = begin_event(name.size() + category.size());
  to = put_literal(to, R"({"ts":)");
  to = put_microseconds(to, ts_ns);
  to = put_literal(to, R"(,"ph":")");
  *to++ = phase;
  to = put_literal(to, R"(","id":)");
  to = put_unsigned(to, id);
  to = put_literal(to, R"(,"cat":")");
  to = put_escaped(to, category);
  to = put_literal(to, R"(","name":")");
  to = put_escaped(to, name);
  *to++ = '"';
  to = put_pid_tid(to, tid);
  // "bp":"e" binds the end to the slice that encloses it instead of the next one to begin.
  to = phase == 'f' ? put_literal(to, R"(,"bp":"e"})") : put_literal(to, "}");
  file_.commit(static_cast<std::size_t>(to - start_));
  start_ = at_ = to;
  ++events_;
}

void EventWriter::arg(ArgKey key, RawJson value) {
  const std::string_view text = value.text.size() <= max_text_bytes ? value.text : "null";
  at_ = put_literal(begin_arg(key, text.size()), text);
}

void EventWriter::members(std::string_view json) {
  if (json.empty() || json.size() > max_text_bytes) {
    return;
  }
  char* to = ensure(json.size() + 1);
  *to = ',';
  to += has_args_ ? 1 : 0;
  has_args_ = true;
  at_ = put_literal(to, json);
}

// Cut before the sequence that the limit falls into: half a character would become U+FFFD.
std::string_view EventWriter::shorten(std::string_view text) {
  constexpr std::string_view mark = "...";
  std::size_t size = max_text_bytes - mark.size();
  while (size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) {
    --size;
  }
  std::memcpy(shortened_, text.data(), size);
  put_literal(shortened_ + size, mark);
  return {shortened_, size + mark.size()};
}

}  // namespace traceagent::trace
