#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace traceagent::step {

/// What the option `step.mark` asks for: where a training step begins.
struct MarkSpecification {
  enum class Kind : std::uint8_t {
    automatic,  ///< `auto`: a known NVTX range, else the period of the calls
    nvtx,       ///< `nvtx:NAME`: a range or mark of that name
    call,       ///< `call:FUNCTION[:N]`: every Nth call of a hooked function
    every       ///< `every:DURATION`: wall-clock slices
  };

  Kind kind = Kind::automatic;
  std::string name;                        ///< NVTX name without its `*`, or the function
  bool is_prefix = false;                  ///< the NVTX name ended in `*`
  std::uint64_t calls_per_step = 1;        ///< N of `call:`
  std::uint64_t duration_ns = 1000000000;  ///< of `every:` (and of the fallback of `auto`)
};

/// Reads a duration such as `250ms`, `1.5s`, `2min` (units ns us ms s m min h) into nanoseconds;
/// nothing for anything else, for zero, and for more than a year.
std::optional<std::uint64_t> parse_duration_ns(std::string_view text);

/// Reads `auto`, `nvtx:NAME`, `call:FUNCTION[:N]` or `every:DURATION`.
/// On a bad value returns nothing and says why in `problem` (one clause, no full stop).
std::optional<MarkSpecification> parse_mark(std::string_view text, std::string& problem);

/// Whether an NVTX name is the one asked for. A trailing number is tolerated (`step 12`,
/// `ProfilerStep#12`), since loops number their ranges. Allocation-free: called in the job.
bool matches_mark(const MarkSpecification& mark, std::string_view name) noexcept;

/// The place of an NVTX range name in the list of names that training loops commonly give to a
/// whole step (`step`, `train_step 3`, `Iteration: 7`, `ProfilerStep#12`, …), counted from 0;
/// negative if it is not there. Allocation-free.
int known_step_index(std::string_view name) noexcept;

/// The name at that place.
std::string_view known_step_name(int index) noexcept;

/// The name without a trailing number and the separators (`#`, `:`, `_`, space) before it.
std::string_view without_number(std::string_view name) noexcept;

}  // namespace traceagent::step
