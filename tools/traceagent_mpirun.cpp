// The wrapper around a launcher: traceagent-mpirun -n 8 python train.py
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/agent_library.hpp"
#include "tools/command_line.hpp"
#include "tools/mpi_launcher.hpp"
#include "tools/out_of_memory.hpp"
#include "tools/start_program.hpp"

namespace {

constexpr char help[] =
    "Calls the mpirun of this machine so that its ranks run with the agent.\n"
    "usage: traceagent-mpirun <what you would give to mpirun>\n"
    "TRACEAGENT_* variables are passed on to all ranks; TRACEAGENT_MPIRUN names another launcher.\n"
    "examples:\n"
    "  traceagent-mpirun -n 8 python train.py\n"
    "  TRACEAGENT_SCHEDULE=wait=5,active=3 traceagent-mpirun -n 16 -hostfile hosts ./train\n";

}  // namespace

[[gnu::constructor(101)]] static void prepare_to_terminate() noexcept {
  traceagent::tools::end_with_a_line_at_terminate();
}

int main(int argc, char** argv) {
  using namespace traceagent::tools;
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.empty() || arguments == std::vector<std::string>{"--help"}) {
    (arguments.empty() ? std::cerr : std::cout) << help;
    return if_printed(arguments.empty() ? exit_usage : exit_ok);
  }
  make_config_whole();
  const AgentLibrary library = find_agent_library();
  if (!library.problem.empty()) {
    say(library.problem);
    return exit_cannot_launch;
  }
  const MpiLauncher launcher = find_mpi_launcher();
  if (!launcher.problem.empty()) {
    say(launcher.problem);
    return exit_not_found;
  }
  return start_program(mpi_command(launcher, rank_environment(library.path, environ), arguments));
}
