#include "agent/step/marks.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "config/decimal.hpp"

namespace traceagent::step {
namespace {

constexpr std::array<std::string_view, 13> known_step_names = {
    "step",        "train_step",   "training_step", "train step", "training step",
    "trainstep",   "iteration",    "iter",          "train_iter", "train_iteration",
    "train_batch", "profilerstep", "global_step"};

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool equals_ignoring_case(std::string_view name, std::string_view lower_case) noexcept {
  return std::equal(name.begin(), name.end(), lower_case.begin(), lower_case.end(),
                    [](char a, char b) { return lower(a) == b; });
}

std::string_view without_trailing(std::string_view name, std::string_view characters) noexcept {
  const auto last = name.find_last_not_of(characters);
  return last == std::string_view::npos ? std::string_view{} : name.substr(0, last + 1);
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<double> unit_ns(std::string_view unit) {
  constexpr std::array<std::pair<std::string_view, double>, 7> units = {
      {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}}};
  for (const auto& [name, ns] : units) {
    if (name == unit) return ns;
  }
  return std::nullopt;
}

std::optional<MarkSpecification> parse_nvtx(std::string_view name, std::string& problem) {
  MarkSpecification mark;
  mark.kind = MarkSpecification::Kind::nvtx;
  mark.is_prefix = name.ends_with('*');
  if (mark.is_prefix) name.remove_suffix(1);
  mark.name = name;
  if (mark.name.empty()) {
    problem = "nvtx: needs the name of a range or mark, such as nvtx:train_step";
    return std::nullopt;
  }
  return mark;
}

std::optional<MarkSpecification> parse_call(std::string_view text, std::string& problem) {
  MarkSpecification mark;
  mark.kind = MarkSpecification::Kind::call;
  const auto colon = text.find(':');
  mark.name = text.substr(0, colon);
  if (mark.name.empty()) {
    problem = "call: needs a function, such as call:ncclAllReduce:4";
    return std::nullopt;
  }
  if (colon == std::string_view::npos) return mark;
  const auto number = text.substr(colon + 1);
  const auto [end, error] =
      std::from_chars(number.data(), number.data() + number.size(), mark.calls_per_step);
  if (error != std::errc{} || end != number.data() + number.size() || mark.calls_per_step == 0) {
    problem = "call: wants a whole number of calls of at least 1 after the function, not '" +
              std::string(number) + "'";
    return std::nullopt;
  }
  return mark;
}

std::optional<MarkSpecification> parse_every(std::string_view text, std::string& problem) {
  const auto duration_ns = parse_duration_ns(text);
  if (!duration_ns) {
    problem = "every: wants a duration such as 1s or 250ms, not '" + std::string(text) + "'";
    return std::nullopt;
  }
  MarkSpecification mark;
  mark.kind = MarkSpecification::Kind::every;
  mark.duration_ns = *duration_ns;
  return mark;
}

}  // namespace

std::optional<std::uint64_t> parse_duration_ns(std::string_view text) {
  constexpr double year_ns = 365.0 * 24 * 3600e9;
  const std::size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> value = config::parse_decimal(text.substr(0, digits));
  if (!value) return std::nullopt;
  std::string_view unit = text.substr(digits);
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  const auto scale = unit_ns(unit);
  if (!scale) return std::nullopt;
  const double ns = *value * *scale + 0.5;
  if (!(ns >= 1 && ns <= year_ns)) return std::nullopt;
  return static_cast<std::uint64_t>(ns);
}

std::optional<MarkSpecification> parse_mark(std::string_view text, std::string& problem) {
  if (text == "auto") return MarkSpecification{};
  if (take_prefix(text, "nvtx:")) return parse_nvtx(text, problem);
  if (take_prefix(text, "call:")) return parse_call(text, problem);
  if (take_prefix(text, "every:")) return parse_every(text, problem);
  problem =
      "want auto, nvtx:NAME, call:FUNCTION[:N] or every:DURATION, not '" + std::string(text) + "'";
  return std::nullopt;
}

std::string_view without_number(std::string_view name) noexcept {
  return without_trailing(without_trailing(name, "0123456789 "), "#:_ ");
}

bool matches_mark(const MarkSpecification& mark, std::string_view name) noexcept {
  if (mark.is_prefix) return name.starts_with(mark.name);
  return name == mark.name || without_number(name) == mark.name;
}

int known_step_index(std::string_view name) noexcept {
  constexpr std::size_t longest = 64;
  if (name.size() > longest) return -1;
  const auto bare = without_number(name);
  const auto* known =
      std::find_if(known_step_names.begin(), known_step_names.end(),
                   [bare](std::string_view each) { return equals_ignoring_case(bare, each); });
  return known == known_step_names.end() ? -1 : static_cast<int>(known - known_step_names.begin());
}

std::string_view known_step_name(int index) noexcept {
  return known_step_names[static_cast<std::size_t>(index)];
}

}  // namespace traceagent::step
