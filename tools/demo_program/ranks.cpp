#include "tools/demo_program/ranks.hpp"

#include <unistd.h>

#include <cstdlib>

namespace traceagent::demo {
namespace {

struct Launcher {
  const char* rank;
  const char* local_rank;
  const char* size;
};

constexpr Launcher launchers[] = {
    {"RANK", "LOCAL_RANK", "WORLD_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMI_RANK", "MPI_LOCALRANKID", "PMI_SIZE"},
    {"SLURM_PROCID", "SLURM_LOCALID", "SLURM_NTASKS"},
};

const char* variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? nullptr : value;
}

// The parent process is the same for all ranks only where nothing stands between it and them, so
// it comes last.
std::string launch_name() {
  std::string name;
  for (const char* key : {"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID", "TORCHELASTIC_RUN_ID",
                          "MASTER_ADDR", "MASTER_PORT"}) {
    if (const char* value = variable(key)) {
      name += std::string(name.empty() ? "" : "-") + value;
    }
  }
  if (name.empty()) {
    name = std::to_string(getppid());
  }
  for (char& c : name) {
    c = c == '/' ? '_' : c;
  }
  return name;
}

}  // namespace

Ranks read_ranks() {
  Ranks ranks;
  ranks.launch = launch_name();
  for (const Launcher& launcher : launchers) {
    const char* rank = variable(launcher.rank);
    const char* size = variable(launcher.size);
    if (rank != nullptr && size != nullptr) {
      const char* local_rank = variable(launcher.local_rank);
      ranks.rank = std::atoi(rank);
      ranks.size = std::atoi(size);
      ranks.local_rank = local_rank == nullptr ? ranks.rank : std::atoi(local_rank);
      break;
    }
  }
  return ranks;
}

}  // namespace traceagent::demo
