#include "agent/trace/corrected_durations.hpp"

#include <cstddef>
#include <optional>
#include <string_view>

#include "agent/trace/json_text.hpp"

namespace traceagent::trace {

namespace {

constexpr std::string_view dur_prefix = ",\"dur\":";
constexpr std::string_view behind_dur = ",\"ph\":\"X\"";

// The number of a slice's "dur", where our writer and the import put it; else empty.
std::string_view duration_text(std::string_view after_ts) {
  if (!after_ts.starts_with(dur_prefix)) return {};
  const std::string_view text = after_ts.substr(dur_prefix.size());
  const std::size_t bytes = text.find(',');
  if (bytes == std::string_view::npos || !text.substr(bytes).starts_with(behind_dur)) return {};
  return text.substr(0, bytes);
}

// Of what put_microseconds() writes; else nothing: a duration that never was set stays so.
std::optional<std::int64_t> nanoseconds_of(std::string_view microseconds) {
  constexpr std::size_t most_bytes = 16;  // 31 years
  constexpr std::size_t decimals = 3;
  const std::size_t point = microseconds.find('.');
  if (microseconds.size() > most_bytes || point == 0 ||
      point != microseconds.size() - decimals - 1) {
    return std::nullopt;
  }
  std::int64_t ns = 0;
  for (const char letter : microseconds) {
    if (letter == '.') continue;
    if (letter < '0' || letter > '9') return std::nullopt;
    ns = ns * 10 + (letter - '0');
  }
  return ns;
}

}  // namespace

void CorrectedDurations::apply(const ClockCorrection& correction, std::int64_t begin_ns,
                               TraceLine& line) {
  if (!correction.has_drift()) return;
  const std::string_view old_text = duration_text(line.after_ts);
  const std::optional<std::int64_t> old_ns = nanoseconds_of(old_text);
  const std::int64_t new_ns = correction.corrected_duration(begin_ns, old_ns.value_or(0));
  if (!old_ns || new_ns == *old_ns) return;
  char number[max_microsecond_chars];
  const char* const number_end = put_microseconds(number, new_ns);
  const std::size_t before_after_ts = line.text.size() - line.after_ts.size();
  const std::size_t before_dur = before_after_ts + dur_prefix.size();
  text_.assign(line.text.substr(0, before_dur));
  text_.append(static_cast<const char*>(number), number_end);
  text_.append(line.text.substr(before_dur + old_text.size()));
  line.text = text_;
  line.after_ts = line.text.substr(before_after_ts);
}

}  // namespace traceagent::trace
