#include "tests/sim/cudart/bodies.hpp"

namespace simgpu::cudart {

const std::uint16_t cudart_major = SIMGPU_CUDART_MAJOR;

}  // namespace simgpu::cudart
