#include "tools/selection/event_fields.hpp"

#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace traceagent::tools {

namespace {

enum Member : unsigned { ph = 1, dur = 2, cat = 4, name = 8, id = 16, pid = 32, tid = 64 };
constexpr unsigned all_members = ~0U;

// Those without which an event of the phase cannot be judged. A counter's or async event's id may
// be missing: then the line is read to its end.
unsigned needed_by(char phase) {
  switch (phase) {
    case 'X':
      return ph | dur | cat | pid | tid;
    case 'i':
    case 'I':
      return ph | cat | pid;
    case 's':
    case 't':
    case 'f':
      return ph | cat | name | id | pid | tid;
    default:
      return all_members;
  }
}

// Goes over text that is known to be JSON; at its end it stays where it is.
class Walk {
 public:
  explicit Walk(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool next(std::string_view& key, std::string_view& value) {
    skip_to_string();
    if (at_ == end_) {
      return false;
    }
    const char* const begin = at_ + 1;
    skip_string();
    key = {begin, static_cast<std::size_t>(at_ - begin - (at_ == begin ? 0 : 1))};
    while (at_ != end_ && (*at_ == ':' || *at_ == ' ' || *at_ == '\t' || *at_ == '\r')) {
      ++at_;
    }
    const char* const first = at_;
    skip_value();
    value = {first, static_cast<std::size_t>(at_ - first)};
    return true;
  }

 private:
  void skip_to_string() {
    while (at_ != end_ && *at_ != '"') {
      ++at_;
    }
  }

  // From its opening quote to behind its closing one.
  void skip_string() {
    ++at_;
    while (at_ != end_ && *at_ != '"') {
      at_ += *at_ == '\\' && end_ - at_ > 1 ? 2 : 1;
    }
    at_ += at_ != end_ ? 1 : 0;
  }

  void skip_value() {
    if (at_ == end_) {
      return;
    }
    if (*at_ == '"') {
      return skip_string();
    }
    if (*at_ == '{' || *at_ == '[') {
      return skip_nested();
    }
    while (at_ != end_ && *at_ != ',' && *at_ != '}' && *at_ != ' ' && *at_ != '\t' &&
           *at_ != '\r') {
      ++at_;
    }
  }

  void skip_nested() {
    int depth = 0;
    do {
      if (*at_ == '"') {
        skip_string();
        continue;
      }
      depth += *at_ == '{' || *at_ == '[' ? 1 : 0;
      depth -= *at_ == '}' || *at_ == ']' ? 1 : 0;
      ++at_;
    } while (at_ != end_ && depth > 0);
  }

  const char* at_;
  const char* const end_;
};

std::string_view unquoted(std::string_view value) {
  return value.size() >= 2 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
}

std::int64_t integer_of(std::string_view value) {
  std::int64_t number = 0;
  value = unquoted(value);
  std::from_chars(value.data(), value.data() + value.size(), number);
  return number;
}

unsigned take(std::string_view key, std::string_view value, EventFields& fields) {
  if (key == "dur") {
    fields.has_dur = true;
    fields.dur_text = value;
    fields.dur_ns = nanoseconds_of(unquoted(value));
    return dur;
  }
  if (key == "ph") {
    fields.phase = unquoted(value).empty() ? '\0' : unquoted(value).front();
    return ph;
  }
  if (key == "cat") {
    fields.category = unquoted(value);
    return cat;
  }
  if (key == "name") {
    fields.name = unquoted(value);
    return name;
  }
  if (key == "pid") {
    fields.pid = integer_of(value);
    return pid;
  }
  if (key == "tid") {
    fields.tid = integer_of(value);
    return tid;
  }
  if (key == "id" || key == "id2") {
    fields.id = value;
    return id;
  }
  if (key == "scope") {
    fields.scope = value;
  }
  return 0;
}

}  // namespace

EventFields fields_of(std::string_view after_ts) {
  EventFields fields;
  Walk walk(after_ts);
  std::string_view key;
  std::string_view value;
  unsigned found = 0;
  unsigned needed = all_members;
  while ((found & needed) != needed && walk.next(key, value)) {
    found |= take(key, value, fields);
    needed = (found & ph) != 0 ? needed_by(fields.phase) : all_members;
  }
  return fields;
}

std::int64_t nanoseconds_of(std::string_view microseconds) {
  const char* const end = microseconds.data() + microseconds.size();
  std::int64_t whole = 0;
  const auto [rest, error] = std::from_chars(microseconds.data(), end, whole);
  constexpr std::int64_t most = endless_ns / 1000;
  const auto decimals = end - rest;
  // What our own writer makes: exact, without floating point.
  if (error == std::errc() && microseconds.front() != '-' && whole < most &&
      (decimals == 0 || (decimals == 4 && *rest == '.'))) {
    std::int64_t fraction = 0;
    if (decimals == 0 || std::from_chars(rest + 1, end, fraction).ptr == end) {
      return whole * 1000 + fraction;
    }
  }
  double value = 0;
  std::from_chars(microseconds.data(), end, value);
  if (std::abs(value) < static_cast<double>(most)) return std::llround(value * 1000);
  return value < 0 ? -endless_ns : endless_ns;
}

}  // namespace traceagent::tools
