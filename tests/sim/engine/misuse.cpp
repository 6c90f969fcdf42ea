#include "tests/sim/engine/misuse.hpp"

#include <cstdio>
#include <cstdlib>

namespace simgpu {

void misuse(const char* function, const char* what) {
  std::fprintf(stderr, "simgpu: misuse: %s: %s\n", function, what);
  std::abort();
}

}  // namespace simgpu
