#include "tests/sim/cuda/functions.hpp"

namespace simgpu::cuda {

const char* function_name(std::uint16_t number) {
#define SUFFIX_v1
#define SUFFIX_v2 "_v2"
#define SUFFIX_v3 "_v3"
#define SIMULATED(name, abi, ...) #name SUFFIX_##abi,
  static constexpr const char* names[] = {
#define QUESTION SIMULATED
#include "tests/sim/cuda/cuda.def"
#undef QUESTION
  };
  return number < Number::count ? names[number] : "?";
}

}  // namespace simgpu::cuda
