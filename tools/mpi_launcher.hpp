#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/run_options.hpp"

namespace traceagent::tools {

enum class MpiKind { open_mpi, hydra };  // Hydra: MPICH, Intel MPI, MVAPICH

struct MpiLauncher {
  std::string program;  // as it is to be executed
  MpiKind kind = MpiKind::open_mpi;
  std::string problem;  // one line, or empty
};

// What TRACEAGENT_MPIRUN names, else mpirun or mpiexec in PATH, asked for its version.
MpiLauncher find_mpi_launcher();

// From what "mpirun --version" prints; false when it is neither.
bool recognise_mpi(std::string_view version_text, MpiKind& kind);

// Of our own environment: the ranks may be started in another folder than ours. Where that is not
// known TRACEAGENT_CONFIG stays as it is.
void make_config_whole();

// What the ranks need: the preload, which the launcher itself must not have, and all TRACEAGENT_*.
Variables rank_environment(const std::string& library, const char* const* environment);

// The launcher's command with the variables in front of the user's arguments: -x NAME for each
// program of an Open MPI command (they are separated by ":"), which passes on what the launcher
// itself has. Hydra does so by itself. With its value goes LD_PRELOAD alone; under Hydra all do
// where the arguments, or HYDRA_ENV, keep variables from the ranks.
std::vector<std::string> mpi_command(const MpiLauncher& launcher, const Variables& variables,
                                     const std::vector<std::string>& arguments);

}  // namespace traceagent::tools
