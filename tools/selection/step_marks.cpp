#include "tools/selection/step_marks.hpp"

#include "agent/trace/json_scan.hpp"
#include "tools/selection/event_fields.hpp"

namespace traceagent::tools {

namespace {

constexpr std::string_view step_name = "ProfilerStep#";

std::optional<MarkedStep> in_name(std::string_view after_ts) {
  const std::string_view name = fields_of(after_ts).name;
  if (!name.starts_with(step_name)) return std::nullopt;
  const auto number = trace::parse_integer(name.substr(step_name.size()));
  return number ? std::optional(MarkedStep{StepMark::profiler_step, *number}) : std::nullopt;
}

// Also of a text that is one: SageMaker Debugger writes "step_num": "4".
std::optional<std::int64_t> number_of(std::string_view args, std::string_view key) {
  const auto text = trace::string_member(args, key);
  return text ? trace::parse_integer(*text) : trace::integer_member(args, key);
}

std::optional<MarkedStep> in_arguments(std::string_view line, std::string_view after_ts) {
  if (fields_of(after_ts).phase == 'E') return std::nullopt;
  const std::string_view args = trace::member(line, "args").value_or("");
  if (const auto number = number_of(args, "step_num")) {
    return MarkedStep{StepMark::step_num, *number};
  }
  const auto batch = number_of(args, "batch");
  if (!batch || !number_of(args, "epoch")) return std::nullopt;
  return MarkedStep{StepMark::batch, *batch};
}

bool holds(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

}  // namespace

std::optional<MarkedStep> marked_step(std::string_view line, std::string_view after_ts) {
  if (holds(line, step_name)) {
    if (const auto step = in_name(after_ts)) return step;
  }
  const bool may_say_it =
      holds(line, "\"step_num\"") || (holds(line, "\"batch\"") && holds(line, "\"epoch\""));
  return may_say_it ? in_arguments(line, after_ts) : std::nullopt;
}

}  // namespace traceagent::tools
