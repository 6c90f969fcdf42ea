#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "agent/trace/side_reads.hpp"

namespace traceagent::trace {

// The events of a file of our own form that does not hold them: they are made while they are read
// (tools/import/imported_events.hpp).
class MadeEvents {
 public:
  struct Line {
    std::int64_t ts_ns = 0;  // relative to the file's base
    std::uint64_t source_offset = 0;
    std::uint32_t offset = 0;  // in the text
    std::uint32_t bytes = 0;
    std::uint32_t after_ts = 0;  // in the line: behind the number of "ts"
  };
  struct Lines {
    const char* text = nullptr;
    const Line* begin = nullptr;
    const Line* end = nullptr;
  };

  virtual ~MadeEvents() = default;
  // From here on they are made by others beforehand.
  virtual void make_beside(SideReads& reads) = 0;
  // The next, in the order of time, each as it would stand in the file, without comma and newline;
  // valid until the next call. None: it was the last, or see problem(). Throws std::bad_alloc.
  virtual Lines next() = 0;
  // They can no longer be made as they were to be: nothing that was read of them is of use. One
  // line, or empty.
  [[nodiscard]] virtual const std::string& problem() const = 0;

  // Of what they are made of.
  [[nodiscard]] virtual std::uint64_t file_bytes() const = 0;
  [[nodiscard]] virtual std::uint64_t file_bytes_read() const = 0;
  [[nodiscard]] virtual std::size_t memory_bytes() const = 0;
};

}  // namespace traceagent::trace
