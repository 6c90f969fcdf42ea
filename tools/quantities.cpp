#include "tools/quantities.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>

namespace traceagent::tools {

std::string size_in_words(std::uint64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double size = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; size >= 1024 && unit + 1 < std::size(units); ++unit) {
    size /= 1024;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.*f %s", size < 10 && unit > 0 ? 1 : 0, size, units[unit]);
  return text;
}

std::string age_in_words(std::int64_t age_ns) {
  const std::int64_t seconds = std::max<std::int64_t>(age_ns, 0) / 1'000'000'000;
  constexpr std::int64_t minute = 60;
  constexpr std::int64_t hour = 60 * minute;
  constexpr std::int64_t day = 24 * hour;
  // From two on: "1 days" would be a day and a half too.
  if (seconds < 2 * minute) return std::to_string(seconds) + " s";
  if (seconds < 2 * hour) return std::to_string(seconds / minute) + " min";
  if (seconds < 2 * day) return std::to_string(seconds / hour) + " h";
  return std::to_string(seconds / day) + " days";
}

}  // namespace traceagent::tools
