#pragma once
// What is to go wrong: FAULTS="FUNCTION[@OFFSET][#N[+]]=ACTION[,...]", see README.md.

#include <cstddef>
#include <cstdint>

namespace traceagent::faults {

enum class Action : std::uint8_t {
  none,
  fail,
  interrupt,
  cut,
  end,
  stop,
  kill,
  kill_after,
  kill_half
};

struct Rule {
  std::size_t function = 0;  // index in faults.def; any_function
  std::uint64_t offset = 0;  // of the return address in its object; 0: wherever
  std::uint64_t from = 1;    // the how-manieth call of that place
  bool lasts = false;        // it and all that follow
  Action action = Action::none;
  int error = 0;
};
inline constexpr std::size_t any_function = SIZE_MAX;
inline constexpr std::size_t most_rules = 16;

struct Rules {
  Rule rules[most_rules];
  std::size_t count = 0;
};

/// Index of a function of faults.def; any_function where there is none of that name.
std::size_t find_function(const char* name, std::size_t length) noexcept;

/// Ends the process where a rule cannot be read: a test that breaks nothing must not pass.
/// Allocates nothing and changes nothing of the process.
Rules read_rules(const char* text) noexcept;

}  // namespace traceagent::faults
