#pragma once
// The counters of counters.def, as code sees them.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::counters {

enum class Scope : std::uint8_t { process, node, gpu };
enum class Kind : std::uint8_t { none, gauge, thousandth, rate, percent, share, whole };

// Stored in the ring file: append only.
enum class Counter : std::uint16_t {
#define COUNTER(id, scope, name, help, ...) id,
#include "agent/counters/counters.def"
#undef COUNTER
  count
};
inline constexpr std::size_t counter_count = static_cast<std::size_t>(Counter::count);

struct Series {
  std::string_view key;
  Kind kind = Kind::none;  // none: behind the last one
};
inline constexpr std::size_t most_series = 4;

struct CounterRow {
  Scope scope;
  std::string_view name;
  std::string_view help;
  std::array<Series, most_series> series;
};

inline constexpr std::array<CounterRow, counter_count> rows = {{
#define SERIES(key, kind) \
  Series { key, Kind::kind }
#define COUNTER(id, scope, name, help, ...) {Scope::scope, name, help, {{__VA_ARGS__}}},
#include "agent/counters/counters.def"
#undef COUNTER
#undef SERIES
}};

inline constexpr const CounterRow& row_of(Counter counter) noexcept {
  return rows[static_cast<std::size_t>(counter)];
}

// The table of the reference, in Markdown.
std::string reference();

}  // namespace traceagent::counters
