#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "config/step_mark.hpp"

namespace traceagent::step {

/// What the option `step.mark` asks for: where a training step begins.
using MarkSpecification = config::StepMark;

/// Whether an NVTX name is the one asked for. A trailing number is tolerated (`step 12`,
/// `ProfilerStep#12`), since loops number their ranges. Allocation-free: called in the job.
bool matches_mark(const MarkSpecification& mark, std::string_view name) noexcept;

/// By their first letters ('\0': of an empty one), the names that may be a step's under `auto` or
/// `nvtx:`. For a quick no to all the others.
using FirstLetters = std::array<bool, 256>;
FirstLetters first_letters(const MarkSpecification& mark) noexcept;

/// The place of an NVTX range name in the list of names that training loops commonly give to a
/// whole step (`step`, `train_step 3`, `Iteration: 7`, `ProfilerStep#12`, …), counted from 0;
/// negative if it is not there. Allocation-free.
int known_step_index(std::string_view name) noexcept;

/// The name at that place.
std::string_view known_step_name(int index) noexcept;

/// The name without a trailing number and the separators (`#`, `:`, `_`, space) before it.
std::string_view without_number(std::string_view name) noexcept;

}  // namespace traceagent::step
