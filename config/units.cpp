#include "config/units.hpp"

#include <charconv>
#include <span>
#include <vector>

#include "config/decimal.hpp"
#include "config/nearest.hpp"
#include "config/plain_text.hpp"

namespace traceagent::config {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

// Largest first: show() takes the first that divides.
constexpr Unit size_units[] = {
    {"TiB", 1ULL << 40}, {"GiB", 1ULL << 30},      {"MiB", 1ULL << 20},
    {"KiB", 1ULL << 10}, {"TB", 1000000000000ULL}, {"GB", 1000000000ULL},
    {"MB", 1000000ULL},  {"KB", 1000ULL},          {"B", 1},
};
constexpr Unit duration_units[] = {
    {"d", 86400000000000ULL},
    {"h", 3600000000000ULL},
    {"min", 60000000000ULL},
    {"s", 1000000000ULL},
    {"ms", 1000000ULL},
    {"us", 1000ULL},
    {"ns", 1},
};

struct Split {
  std::string_view number;
  std::string_view unit;
};

Split split(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.')) ++end;
  return {text.substr(0, end), trimmed(text.substr(end))};
}

const Unit* find_unit(std::string_view name, std::span<const Unit> units) {
  if (name == "\xc2\xb5s") name = "us";
  for (const Unit& unit : units) {
    if (edit_distance(name, unit.name) == 0) return &unit;
  }
  return nullptr;
}

// "min or ms" for m: one letter is near to any other, so the nearest would be just any.
std::string units_that_begin_with(std::string_view letter, std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) {
    if (edit_distance(letter, unit.name.substr(0, 1)) != 0) continue;
    names += (names.empty() ? "" : " or ") + std::string(unit.name);
  }
  return names;
}

std::string all_names(std::span<const Unit> units) {
  std::string names;
  for (const Unit& unit : units) names = ' ' + std::string(unit.name) + names;
  return names;
}

std::string nearest_unit(std::string_view name, std::span<const Unit> units) {
  std::vector<std::string_view> names;
  for (const Unit& unit : units) names.push_back(unit.name);
  return std::string(nearest(name, names));
}

std::string unknown_unit(std::string_view name, std::span<const Unit> units) {
  const std::string problem = "unknown unit " + in_quotes(name);
  if (name.size() == 1) {
    const std::string meant = units_that_begin_with(name, units);
    if (!meant.empty()) return problem + ", it may be " + meant;
  } else if (const std::string near = nearest_unit(name, units); !near.empty()) {
    return problem + ", the nearest is " + near;
  }
  return problem + ", the units are" + all_names(units);
}

// Whole numbers stay exact up to 2^64; only a number with a point goes through a double.
Quantity multiply(std::string_view number, std::uint64_t factor) {
  const char* const end = number.data() + number.size();
  std::uint64_t whole = 0;
  const auto read = std::from_chars(number.data(), end, whole);
  if (read.ec == std::errc() && read.ptr == end) {
    std::uint64_t product = 0;
    if (__builtin_mul_overflow(whole, factor, &product)) return {0, "too large"};
    return {product, {}};
  }
  if (read.ec == std::errc::result_out_of_range) return {0, "too large"};
  const std::optional<double> value = parse_decimal(number);
  if (!value) return {0, "not a number"};
  const double product = *value * static_cast<double>(factor) + 0.5;
  if (!(product < 1.8e19)) return {0, "too large"};
  return {static_cast<std::uint64_t>(product), {}};
}

std::string show(std::uint64_t value, std::span<const Unit> units) {
  for (const Unit& unit : units) {
    if (value != 0 && value % unit.factor == 0) {
      return std::to_string(value / unit.factor) + std::string(unit.name);
    }
  }
  return "0" + std::string(units.back().name);
}

}  // namespace

Quantity parse_bytes(std::string_view text) {
  const Split parts = split(trimmed(text));
  if (parts.number.empty()) return {0, "not a size such as 64MiB"};
  if (parts.unit.empty()) return multiply(parts.number, 1);
  const Unit* const unit = find_unit(parts.unit, size_units);
  if (unit == nullptr) return {0, unknown_unit(parts.unit, size_units)};
  return multiply(parts.number, unit->factor);
}

Quantity parse_duration(std::string_view text) {
  const Split parts = split(trimmed(text));
  if (parts.number.empty()) return {0, "not a duration such as 5s"};
  if (parts.unit.empty()) {
    const Quantity bare = multiply(parts.number, 1);
    if (!bare.problem.empty() || bare.value == 0) return bare;
    return {0, "the unit is missing, such as in " + std::string(parts.number) + "s"};
  }
  const Unit* const unit = find_unit(parts.unit, duration_units);
  if (unit == nullptr) return {0, unknown_unit(parts.unit, duration_units)};
  return multiply(parts.number, unit->factor);
}

Quantity parse_percent(std::string_view text) {
  constexpr std::uint64_t one_percent = 10'000;
  const Split parts = split(trimmed(text));
  if (parts.number.empty()) return {0, "not a share such as 1%"};
  Quantity read = multiply(parts.number, one_percent);
  if (!read.problem.empty()) return read;
  const bool is_zero = parts.number.find_first_of("123456789") == std::string_view::npos;
  if (parts.unit.empty() && !is_zero) {
    return {0, "the % is missing, such as in " + std::string(parts.number) + "%"};
  }
  if (!parts.unit.empty() && parts.unit != "%") return {0, "not a share such as 1%"};
  if (read.value == 0 && !is_zero) return {0, "less than 0.0001%, the smallest share"};
  if (read.value > 100 * one_percent) return {0, "more than 100%"};
  return read;
}

std::string show_bytes(std::uint64_t bytes) { return show(bytes, size_units); }

std::string show_duration(std::uint64_t duration_ns) { return show(duration_ns, duration_units); }

std::string show_percent(std::uint64_t millionths) {
  std::string text = std::to_string(millionths / 10'000);
  std::string rest = std::to_string(millionths % 10'000 + 10'000).substr(1);
  while (!rest.empty() && rest.back() == '0') rest.pop_back();
  if (!rest.empty()) text += '.' + rest;
  return text + '%';
}

}  // namespace traceagent::config
