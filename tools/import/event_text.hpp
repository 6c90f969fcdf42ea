#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tools/import/exact_time.hpp"
#include "tools/import/foreign_event.hpp"

namespace traceagent::tools {

// How a file's times become those of its lines. From epoch_ns on they count from 1970: no monotonic
// clock of a machine has counted that far, and since 2001 all times have.
struct EventTimes {
  static constexpr std::int64_t epoch_ns = 1'000'000'000'000'000'000;

  std::int64_t shift_ns = 0;
  std::int64_t relative_ns = 0;  // added to those that do not count from 1970

  [[nodiscard]] std::int64_t in_line(std::int64_t ns) const {
    return ns - shift_ns + (ns >= epoch_ns ? 0 : relative_ns);
  }
};

// Where a line belongs in a merged file.
struct EventPlace {
  std::int64_t rank = 0;
  std::int64_t pid = 0;
  std::int64_t tid = 0;
  std::int64_t ts_ns = 0;  // as it is to stand in the line
};

// The most that a line is longer than the event that it is made of: keys, numbers and punctuation
// beside what it copies.
inline constexpr std::size_t line_frame_bytes = 768;

struct LineText {
  char* after_ts;
  char* end;
};

// The event as a line of our own form (trace/event_writer.hpp), without comma and newline. Valid
// JSON (DocumentScan's), with TextWindow's padding behind it, of which `begin` is the time.
LineText put_event(char* to, const ForeignEvent& fields, const ScannedObject& event,
                   const EventPlace& place, const ExactTime& begin);

// {"ph":"M",...}, likewise.
char* put_metadata_event(char* to, const ForeignEvent& fields, const ScannedObject& event,
                         const EventPlace& place);

}  // namespace traceagent::tools
