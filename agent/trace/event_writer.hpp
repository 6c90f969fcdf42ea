#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "agent/trace/json_text.hpp"
#include "agent/trace/output_file.hpp"

namespace traceagent::trace {

// The name of an argument, known at compile time and free of anything that JSON escapes. Tables of
// them may be constexpr.
class ArgKey {
 public:
  template <std::size_t bytes>
  consteval ArgKey(const char (&literal)[bytes]) : text_(literal), size_(bytes - 1) {
    for (std::size_t i = 0; i < size_; ++i) {
      if (literal[i] < ' ' || literal[i] == '"' || literal[i] == '\\') {
        throw "an argument's name must need no escape";
      }
    }
  }
  [[nodiscard]] constexpr std::string_view text() const { return {text_, size_}; }

 private:
  const char* text_;
  std::size_t size_;
};

// A handle or address: written as "0x7f...", since a double would round it.
struct Hex {
  std::uint64_t value;
};

// JSON text that is already valid and on one line, such as "[1,2]"; at most max_text_bytes.
struct RawJson {
  std::string_view text;
};

// Writes the lines of "traceEvents" (see document.hpp for what is around them). An event is begun
// by complete(), instant(), counter() or metadata(), gets its arguments by arg(), and is finished
// by end(). Times are nanoseconds relative to the document's base. Metadata events come first, the
// others ordered by time: the caller's duty. One EventWriter for each document.
class EventWriter {
 public:
  // Longer names and texts are cut (and end in "..."), so that no line outgrows what a reader
  // takes.
  static constexpr std::size_t max_text_bytes = std::size_t{32} << 10;

  EventWriter(OutputFile& file, std::int64_t pid);
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

  void process_name(std::string_view name);
  void process_labels(std::string_view labels);
  void process_sort_index(std::int64_t index);
  void thread_name(std::int64_t tid, std::string_view name);
  void thread_sort_index(std::int64_t tid, std::int64_t index);
  // Any other metadata event ("ph":"M"); takes arguments, ends by end().
  void metadata(ArgKey name, std::int64_t tid = 0);

  void complete(std::string_view name, std::string_view category, std::int64_t tid,
                std::int64_t ts_ns, std::int64_t dur_ns);
  void instant(std::string_view name, std::string_view category, std::int64_t tid,
               std::int64_t ts_ns);
  // Each numeric argument is one series of the counter.
  void counter(std::string_view name, std::string_view category, std::int64_t ts_ns);

  // Whole events: an arrow from the slice that encloses (tid, ts_ns) to that of the end with the
  // same category, name and id.
  void flow_start(std::string_view name, std::string_view category, std::int64_t tid,
                  std::int64_t ts_ns, std::uint64_t id);
  void flow_end(std::string_view name, std::string_view category, std::int64_t tid,
                std::int64_t ts_ns, std::uint64_t id);

  template <std::signed_integral Integer>
  void arg(ArgKey key, Integer value) {
    at_ = put_integer(begin_arg(key, max_integer_chars), value);
  }
  template <std::unsigned_integral Integer>
  requires(!std::same_as<Integer, bool>) void arg(ArgKey key, Integer value) {
    at_ = put_unsigned(begin_arg(key, max_integer_chars), value);
  }
  template <std::same_as<bool> Bool>
  void arg(ArgKey key, Bool value) {
    at_ = put_literal(begin_arg(key, 8), value ? std::string_view("true") : "false");
  }
  void arg(ArgKey key, double value) { at_ = put_double(begin_arg(key, max_double_chars), value); }
  void arg(ArgKey key, Hex value) { at_ = put_hex(begin_arg(key, max_hex_chars), value.value); }
  void arg(ArgKey key, std::string_view value) {
    value = value.size() <= max_text_bytes ? value : shorten(value);
    at_ = put_string(begin_arg(key, escaped_bound(value.size())), value);
  }
  void arg(ArgKey key, const char* value) { arg(key, std::string_view(value)); }
  void arg(ArgKey key, RawJson value);
  // Arguments that are JSON text already, on one line: "grid":[64,1,1],"block":[256,1,1]. Nothing
  // where it is longer than max_text_bytes.
  void members(std::string_view json);

  void end() {
    at_ = put_literal(ensure(4), "}}");
    file_.commit(static_cast<std::size_t>(at_ - start_));
    start_ = at_;
    ++events_;
  }

  // Events ended so far, without metadata events.
  [[nodiscard]] std::uint64_t events() const { return events_ - metadata_events_; }

 private:
  // `size` more bytes of room at the returned place, which follows all that was written.
  char* ensure(std::size_t size) {
    if (static_cast<std::size_t>(limit_ - at_) < size) [[unlikely]] {
      grow(size);
    }
    return at_;
  }
  char* begin_arg(ArgKey key, std::size_t value_bound) {
    const std::string_view name = key.text();
    char* to = ensure(name.size() + value_bound + 8);
    *to = ',';
    to += has_args_ ? 1 : 0;
    has_args_ = true;
    *to++ = '"';
    to = put_literal(to, name);
    return put_literal(to, "\":");
  }
  void grow(std::size_t size);
  char* begin_event(std::size_t text_bytes);
  char* put_pid_tid(char* to, std::int64_t tid) const;
  void open_args(char* to);
  void flow(char phase, std::string_view name, std::string_view category, std::int64_t tid,
            std::int64_t ts_ns, std::uint64_t id);
  std::string_view shorten(std::string_view text);

  OutputFile& file_;
  char* start_ = nullptr;  // of what has been formatted but not committed
  char* at_ = nullptr;
  char* limit_ = nullptr;
  bool has_args_ = false;
  bool first_ = true;
  char pid_text_[40] = {};  // ,"pid":<pid>,"tid":
  std::size_t pid_text_size_ = 0;
  std::uint64_t events_ = 0;
  std::uint64_t metadata_events_ = 0;
  char shortened_[max_text_bytes];
};

}  // namespace traceagent::trace
