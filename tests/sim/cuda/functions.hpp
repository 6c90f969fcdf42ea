#pragma once

#include <cstdint>

/// Numbers of the simulated driver's functions, for truth records. Needs no CUDA header.
namespace simgpu::cuda {

#define SIMULATED(name, abi, ...) name##_##abi,
#define QUESTION SIMULATED
struct Number {
  enum : std::uint16_t {
#include "tests/sim/cuda/cuda.def"
    count
  };
};
#undef SIMULATED
#undef QUESTION

/// Which of them leave no call in the truth.
#define SIMULATED(...) false,
#define QUESTION(...) true,
inline constexpr bool questions[] = {
#include "tests/sim/cuda/cuda.def"
};
#undef SIMULATED
#undef QUESTION

/// The exported name of a function number, without the suffix of per-thread streams; "?" for one
/// out of range.
const char* function_name(std::uint16_t number);

}  // namespace simgpu::cuda
