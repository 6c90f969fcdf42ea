#pragma once
// The agent's few words to the user, on standard error.

#include <string_view>

namespace traceagent::process {

enum class Talk { silent, quiet, normal, verbose };
void set_talk(Talk talk) noexcept;
// At load: with standard error closed, nothing will ever be said.
void look_at_error_output() noexcept;

// One line each, prefixed "traceagent: ". Control characters become '?': names come from the job.
void say_problem(std::string_view line) noexcept;  // shown unless silent
void say_result(std::string_view line) noexcept;   // shown unless quiet
void say_detail(std::string_view line) noexcept;   // shown only if verbose

}  // namespace traceagent::process
