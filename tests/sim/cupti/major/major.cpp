#include "tests/sim/cupti/format.hpp"

namespace simgpu::cupti {

extern const std::uint16_t cupti_major = SIMGPU_CUPTI_MAJOR;

}  // namespace simgpu::cupti
