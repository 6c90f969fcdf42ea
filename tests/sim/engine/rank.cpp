#include "tests/sim/engine/rank.hpp"

#include <cstdlib>
#include <initializer_list>

namespace simgpu {

int rank_of_process() {
  for (const char* name :
       {"RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      return std::atoi(value);
    }
  }
  return 0;
}

}  // namespace simgpu
