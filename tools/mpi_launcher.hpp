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

// What the ranks need that the launcher itself must not have: the preload, and all TRACEAGENT_*.
Variables rank_environment(const std::string& library, const char* const* environment);

// The launcher's command with the variables in front of the user's arguments: -x NAME=VALUE for
// each program of an Open MPI command (they are separated by ":"), -genv NAME VALUE for Hydra.
std::vector<std::string> mpi_command(const MpiLauncher& launcher, const Variables& variables,
                                     const std::vector<std::string>& arguments);

}  // namespace traceagent::tools
