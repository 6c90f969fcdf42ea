#include "tools/import/event_text.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/json_text.hpp"
#include "tools/import/foreign_ids.hpp"
#include "tools/import/text_window.hpp"

namespace traceagent::tools {

namespace {

// Line breaks between tokens, and the indentation behind them, go.
char* put_on_one_line(char* to, std::string_view json) {
  while (!json.empty()) {
    const std::size_t line = std::min(json.find('\n'), json.size());
    to = trace::put_literal(to, json.substr(0, line));
    json.remove_prefix(line);
    while (!json.empty() && is_json_space(json.front())) json.remove_prefix(1);
  }
  return to;
}

// Short as most are: a call of memcpy would cost as much again. Source and target have room.
[[gnu::always_inline]] inline char* put_short(char* to, std::string_view text) {
  static_assert(TextWindow::padding_bytes >= 16 && line_frame_bytes >= 16);
  std::memcpy(to, text.data(), 16);
  if (text.size() > 16) std::memcpy(to + 16, text.data() + 16, text.size() - 16);
  return to + text.size();
}

// A value of an event (DocumentScan's).
[[gnu::always_inline]] inline char* put_value(char* to, std::string_view value, bool is_one_line) {
  return is_one_line ? put_short(to, value) : put_on_one_line(to, value);
}

char* put_id(char* to, std::int64_t rank, std::string_view id) {
  return trace::put_unsigned(to, foreign_id(rank, id));
}

// {"global": ID}; a {"local": ID} is its process's own, and stays.
char* put_id2(char* to, std::int64_t rank, std::string_view id2) {
  const auto global = trace::member(id2, "global");
  if (!global) return put_on_one_line(to, id2);
  to = put_id(trace::put_literal(to, "{\"global\":"), rank, *global);
  *to++ = '}';
  return to;
}

// Of counters the id is a part of the name, of objects others refer to it from their arguments;
// both are their process's own.
bool is_of_process(std::string_view phase) {
  return phase.size() == 3 && std::string_view("CNOD").find(phase[1]) != std::string_view::npos;
}

char* put_ids(char* to, const ForeignEvent& fields, std::int64_t rank) {
  if (!fields.id.empty()) {
    to = trace::put_literal(to, ",\"id\":");
    to = is_of_process(fields.ph) ? put_on_one_line(to, fields.id) : put_id(to, rank, fields.id);
  }
  if (!fields.id2.empty()) {
    to = put_id2(trace::put_literal(to, ",\"id2\":"), rank, fields.id2);
  }
  if (!fields.bind_id.empty()) {
    to = put_id(trace::put_literal(to, ",\"bind_id\":"), rank, fields.bind_id);
  }
  return to;
}

char* put_rest(char* to, const ForeignEvent& fields, const ScannedObject& event, bool is_one_line) {
  const auto put = [&to, is_one_line](const JsonMember& member) {
    to = trace::put_literal(to, ",\"");
    to = put_short(to, member.key);
    to = trace::put_literal(to, "\":");
    to = put_value(to, member.value, is_one_line);
  };
  for (std::uint64_t others = fields.others; others != 0; others &= others - 1) {
    put(event.members[static_cast<std::size_t>(std::countr_zero(others))]);
  }
  for (std::size_t i = ForeignEvent::most_marked; i < event.members.size(); ++i) {
    const JsonMember member = event.members[i];
    if (fields.is_other(i, member)) put(member);
  }
  return to;
}

}  // namespace

LineText put_event(char* to, const ForeignEvent& fields, const ScannedObject& event,
                   const EventPlace& place, const ExactTime& begin) {
  const bool is_one_line = fields.is_one_line || event.text.find('\n') == std::string_view::npos;
  to = trace::put_literal(to, "{\"ts\":");
  char* const after_ts = to = trace::put_microseconds(to, place.ts_ns);
  if (!fields.dur.empty()) {
    to = trace::put_literal(to, ",\"dur\":");
    const std::optional<ExactTime> duration = parse_microseconds(fields.dur);
    to = duration
             ? trace::put_microseconds(to, (begin + *duration).rounded_ns() - begin.rounded_ns())
             : put_on_one_line(to, fields.dur);
  }
  const auto put_text = [&to, is_one_line](std::string_view key, std::string_view value) {
    if (value.empty()) return;
    to = trace::put_literal(to, key);
    to = put_value(to, value, is_one_line);
  };
  put_text(",\"ph\":", fields.ph);
  put_text(",\"cat\":", fields.cat);
  put_text(",\"name\":", fields.name);
  to = trace::put_literal(to, ",\"pid\":");
  to = trace::put_integer(to, place.pid);
  to = trace::put_literal(to, ",\"tid\":");
  to = trace::put_integer(to, place.tid);
  to = put_ids(to, fields, place.rank);
  to = put_rest(to, fields, event, is_one_line);
  *to++ = '}';
  return {after_ts, to};
}

// As it stands, but for its time, which says nothing.
char* put_metadata_event(char* to, const ForeignEvent& fields, const ScannedObject& event,
                         const EventPlace& place) {
  to = trace::put_literal(to, R"({"ph":"M","name":)");
  to = put_on_one_line(to, fields.name.empty() ? "\"\"" : fields.name);
  to = trace::put_integer(trace::put_literal(to, ",\"pid\":"), place.pid);
  to = trace::put_integer(trace::put_literal(to, ",\"tid\":"), place.tid);
  to = put_rest(put_ids(to, fields, place.rank), fields, event, false);
  *to++ = '}';
  return to;
}

}  // namespace traceagent::tools
