#pragma once

#include <cstdint>

/// Numbers of the simulated cudart functions, for truth records. Needs no CUDA header.
namespace simgpu::cudart {

#define SIMULATED_PLAIN(name, ...) name,
#define SIMULATED_STREAM(name, ...) name,
#define SIMULATED_DEFAULT(name, ...) name,
#define ABSENT_PLAIN(name, ...) name,
#define ABSENT_STREAM(name, ...) name,
#define ABSENT_DEFAULT(name, ...) name,
#define INTERNAL(name) name,
struct Number {
  enum : std::uint16_t {
#include "tests/sim/cudart/cudart.def"
#include "tests/sim/cudart/internal.def"
    count
  };
};
#undef SIMULATED_PLAIN
#undef SIMULATED_STREAM
#undef SIMULATED_DEFAULT
#undef ABSENT_PLAIN
#undef ABSENT_STREAM
#undef ABSENT_DEFAULT
#undef INTERNAL

/// The name of a function number, "?" for one out of range.
const char* function_name(std::uint16_t number);

}  // namespace simgpu::cudart
