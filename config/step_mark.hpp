#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace traceagent::config {

// What makes a step, as the option step.mark says it.
struct StepMark {
  enum class Kind : std::uint8_t { automatic, nvtx, call, every };

  Kind kind = Kind::automatic;
  std::string name;                         // nvtx: the range's or mark's name; call: the function
  bool is_prefix = false;                   // nvtx: the names that begin so
  std::uint64_t every_nth = 1;              // call: a step ends at each Nth call
  std::uint64_t period_ns = 1'000'000'000;  // every, and what automatic falls back to
};

struct ParsedStepMark {
  StepMark mark;
  std::string problem;  // empty: mark is valid
};

// auto | nvtx:NAME | nvtx:BEGINNING* | call:FUNCTION | call:FUNCTION:N | every:DURATION
// An NVTX name may itself contain colons and spaces. The longest duration is a year.
ParsedStepMark parse_step_mark(std::string_view text);

}  // namespace traceagent::config
