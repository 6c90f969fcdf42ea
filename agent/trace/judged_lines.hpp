#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "agent/trace/line_judge.hpp"
#include "agent/trace/made_events.hpp"

namespace traceagent::trace {

// The events with which the whole lines in a block of a file begin, judged before they are asked
// for. What is no event, and all behind it, is the reader's to judge.
struct JudgedLines {
  static constexpr std::size_t most_lines = 1024;  // what a block has, of 128 bytes each

  std::vector<MadeEvents::Line> lines;  // by their places in the buffer
  std::size_t begin = 0;                // in the buffer: where the first begins
  std::size_t end = 0;                  // and behind the last one's newline

  // Those of the bytes `from` to `to` of a buffer, behind the first newline there: what is before
  // it is the rest of a line of another block. None without memory.
  void judge(const char* buffer, std::size_t from, std::size_t to, LineJudge& judge) noexcept;
  void clear() { lines.clear(); }

  [[nodiscard]] std::size_t memory_bytes() const {
    return lines.capacity() * sizeof(MadeEvents::Line);
  }
};

}  // namespace traceagent::trace
