#include "tests/sim/cudart/functions.hpp"

namespace simgpu::cudart {
namespace {

#define SIMULATED_PLAIN(name, ...) #name,
#define SIMULATED_STREAM(name, ...) #name,
#define SIMULATED_DEFAULT(name, ...) #name,
#define ABSENT_PLAIN(name, ...) #name,
#define ABSENT_STREAM(name, ...) #name,
#define ABSENT_DEFAULT(name, ...) #name,
#define INTERNAL(name) #name,
constexpr const char* names[] = {
#include "tests/sim/cudart/cudart.def"
#include "tests/sim/cudart/internal.def"
};

}  // namespace

const char* function_name(std::uint16_t number) {
  return number < Number::count ? names[number] : "?";
}

}  // namespace simgpu::cudart
