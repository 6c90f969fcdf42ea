#include "config/step_mark.hpp"

#include <charconv>

#include "config/nearest.hpp"
#include "config/plain_text.hpp"
#include "config/units.hpp"

namespace traceagent::config {
namespace {

// So often the drain looks: of shorter ones it would pass over the active ones too.
constexpr std::uint64_t shortest_period_ns = 1'000'000;
constexpr std::uint64_t longest_period_ns = 365ULL * 24 * 3600 * 1'000'000'000;

ParsedStepMark refused(std::string problem) { return {{}, std::move(problem)}; }

ParsedStepMark parse_nvtx(std::string_view name) {
  StepMark mark;
  mark.is_prefix = name.ends_with('*');
  if (mark.is_prefix) name.remove_suffix(1);
  if (name.empty()) return refused("nvtx: needs the name of a range or mark");
  mark.kind = StepMark::Kind::nvtx;
  mark.name = name;
  return {mark, {}};
}

bool is_function_name(std::string_view name) {
  if (name.empty() || (name[0] >= '0' && name[0] <= '9')) return false;
  for (const char c : name) {
    const bool fits =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    if (!fits) return false;
  }
  return true;
}

ParsedStepMark parse_call(std::string_view argument) {
  const std::size_t colon = argument.find(':');
  const std::string_view function = argument.substr(0, colon);
  if (!is_function_name(function)) return refused("call: needs the name of a function");
  StepMark mark;
  mark.kind = StepMark::Kind::call;
  mark.name = function;
  if (colon != std::string_view::npos) {
    const std::string_view number = argument.substr(colon + 1);
    const char* const end = number.data() + number.size();
    const auto read = std::from_chars(number.data(), end, mark.every_nth);
    if (read.ec != std::errc() || read.ptr != end || mark.every_nth == 0) {
      return refused("the number of calls in a step must be a whole number from 1");
    }
  }
  return {mark, {}};
}

ParsedStepMark parse_every(std::string_view duration) {
  const Quantity period = parse_duration(duration);
  if (!period.problem.empty()) return refused(period.problem);
  if (period.value == 0) return refused("a step must last longer than 0");
  if (period.value < shortest_period_ns) return refused("shorter than 1ms");
  if (period.value > longest_period_ns) return refused("longer than a year");
  StepMark mark;
  mark.kind = StepMark::Kind::every;
  mark.period_ns = period.value;
  return {mark, {}};
}

}  // namespace

ParsedStepMark parse_step_mark(std::string_view text) {
  if (text == "auto") return {};
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const bool has_argument = colon != std::string_view::npos;
  const std::string_view argument = has_argument ? text.substr(colon + 1) : std::string_view();
  if (has_argument && kind == "nvtx") return parse_nvtx(argument);
  if (has_argument && kind == "call") return parse_call(argument);
  if (has_argument && kind == "every") return parse_every(argument);
  if (kind == "nvtx") return refused("a name is missing, such as in nvtx:step");
  if (kind == "call") return refused("a function is missing, such as in call:ncclAllReduce:4");
  if (kind == "every") return refused("a duration is missing, such as in every:1s");
  return refused(
      "not one of auto, nvtx:NAME, call:FUNCTION, call:FUNCTION:N, every:DURATION; " +
      nearest_in_words(kind, {"auto", "nvtx:NAME", "call:FUNCTION", "nvtx", "call", "every"}));
}

}  // namespace traceagent::config
