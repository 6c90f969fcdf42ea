#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tools/agent_library.hpp"
#include "tools/command_line.hpp"
#include "tools/run_options.hpp"
#include "tools/start_program.hpp"

namespace traceagent::tools {

namespace {

constexpr char description[] = "Run a program with the agent";

std::string footer(const std::string& name) {
  return "Behind the options: [--] PROGRAM [ARGUMENTS]; its exit code is passed on.\n"
         "A wrong value of an option of this command starts nothing; one in the file of --config, "
         "or in a\n"
         "variable, is said, and the program runs with the default (see traceagent check).\n"
         "Exits with 2 for a wrong option, 125 when the agent cannot be preloaded, 126 when "
         "PROGRAM "
         "cannot\n"
         "be run, 127 when it is not there.\n"
         "examples:\n"
         "  " +
         name +
         " python train.py\n"
         "  " +
         name +
         " --schedule wait=5,active=3 --output traces -- ./train --steps 100\n"
         "  " +
         name +
         " --set ring.size=256MiB --set step.mark=nvtx:step -- python train.py\n"
         "  mpirun -n 8 " +
         name + " python train.py";
}

bool set_variable(const std::string& name, const std::string& value) {
  if (setenv(name.c_str(), value.c_str(), 1) == 0) return true;
  say("variable not set: " + name + ": " + std::strerror(errno) +
      ": nothing is started: free some memory");
  return false;
}

bool set_variables(const Variables& variables, const std::string& library) {
  for (const auto& [name, value] : variables) {
    if (!set_variable(name, value)) return false;
  }
  const char* present = std::getenv("LD_PRELOAD");
  return set_variable("LD_PRELOAD", joined_preload(library, present == nullptr ? "" : present));
}

int run(const RunOptions& options, std::vector<std::string> command) {
  if (!command.empty() && command.front() == "--") {
    command.erase(command.begin());
  } else if (!command.empty() && command.front().starts_with('-')) {
    say("unknown option: " + command.front() +
        ": see traceagent run --help; a program goes behind --");
    return exit_usage;
  }
  if (command.empty()) {
    say("no program: nothing behind the options: give the program to run, see traceagent run "
        "--help");
    return exit_usage;
  }
  const RunVariables wanted = variables_of(options);
  if (!wanted.problem.empty()) {
    say(wanted.problem);
    return exit_usage;
  }
  const AgentLibrary library = find_agent_library();
  if (!library.problem.empty()) {
    say(library.problem);
    return exit_cannot_launch;
  }
  if (!set_variables(wanted.variables, library.path)) return exit_cannot_launch;
  return start_program(command);
}

}  // namespace

void add_run_command(CLI::App& app) { app.add_subcommand("run", description); }

// An application of its own: CLI11 hands what is behind "--" back to a subcommand's parent.
int run_main(const std::string& name, int argc, const char* const* argv) {
  CLI::App app(description, name);
  RunOptions options;
  int exit_code = exit_ok;
  add_run_options(app, options);
  app.set_version_flag("--version", name + " " TRACEAGENT_VERSION);
  app.footer(footer(name));
  app.prefix_command();
  app.callback([&] { exit_code = run(options, app.remaining()); });
  return parse_and_run(app, argc, argv, exit_code);
}

}  // namespace traceagent::tools
