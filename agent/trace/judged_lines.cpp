#include "agent/trace/judged_lines.hpp"

#include <cstring>
#include <new>

namespace traceagent::trace {

namespace {

// Null: it has none.
const char* newline_in(const char* at, const char* end) {
  return at == end
             ? nullptr
             : static_cast<const char*>(std::memchr(at, '\n', static_cast<std::size_t>(end - at)));
}

}  // namespace

void JudgedLines::judge(const char* buffer, std::size_t from, std::size_t to,
                        LineJudge& judge) noexcept try {
  lines.clear();
  lines.reserve(most_lines);
  const char* const behind = buffer + to;
  const char* newline = newline_in(buffer + from, behind);
  if (newline == nullptr) {
    return;
  }
  const char* at = newline + 1;
  begin = end = static_cast<std::size_t>(at - buffer);
  for (; lines.size() < most_lines && (newline = newline_in(at, behind)) != nullptr;
       at = newline + 1) {
    TraceLine line;
    const char* const damage = judge.damage_of({at, static_cast<std::size_t>(newline - at)}, line);
    if (damage != nullptr || line.kind != TraceLine::Kind::event) {
      return;
    }
    lines.push_back({line.ts_ns, 0, static_cast<std::uint32_t>(at - buffer),
                     static_cast<std::uint32_t>(line.text.size()),
                     static_cast<std::uint32_t>(line.after_ts.data() - at)});
    end = static_cast<std::size_t>(newline + 1 - buffer);
  }
} catch (const std::bad_alloc&) {
  lines.clear();
}

}  // namespace traceagent::trace
