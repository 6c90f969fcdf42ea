#include <CLI/CLI.hpp>
#include <iostream>

#include "config/reference.hpp"
#include "tools/command_line.hpp"

namespace traceagent::tools {

void add_options_command(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("options", "Print every option with its default and meaning");
  command->footer("examples:\n  traceagent options\n  traceagent options | grep -A2 ring");
  command->callback([&exit_code] {
    std::cout << config::options_reference_text();
    exit_code = std::cout.good() ? exit_ok : exit_bad_data;
  });
}

}  // namespace traceagent::tools
