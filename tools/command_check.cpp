#include <iostream>

#include "tools/agent_library.hpp"
#include "tools/check_report.hpp"
#include "tools/command_line.hpp"

namespace traceagent::tools {

namespace {

int check() {
  CheckReport report;
  const AgentLibrary library = find_agent_library();
  check_library(library, report);
  check_doors(library, report);
  check_places(report);
  std::cout << report.text() << "\n";
  if (report.problems() == 0) {
    std::cout << "The agent would work here.\n";
    return exit_ok;
  }
  std::cout << "The agent would not work here as it should: see NO above.\n";
  return exit_bad_data;
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("check", "Say what would work on this machine, and what to do");
  command->footer(
      "Exits with 1 when a line says NO. Looks at TRACEAGENT_* as a traced program would.\n"
      "examples:\n"
      "  traceagent check\n"
      "  TRACEAGENT_OUTPUT_FOLDER=/data/traces traceagent check");
  command->callback([&exit_code] { exit_code = check(); });
}

}  // namespace traceagent::tools
