#include <string_view>

#include "tools/command_line.hpp"

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "run") {
    return traceagent::tools::run_main("traceagent run", argc - 1, argv + 1);
  }
  CLI::App app("Traces multi-GPU training jobs that stay as they are.", "traceagent");
  app.set_version_flag("--version", "traceagent " TRACEAGENT_VERSION);
  app.require_subcommand(1);
  app.footer(
      "examples:\n"
      "  traceagent run -- python train.py\n"
      "  traceagent merge my-run/traces -o all.json\n"
      "  traceagent check");
  int exit_code = traceagent::tools::exit_ok;
  traceagent::tools::add_run_command(app);
  traceagent::tools::add_merge_command(app, exit_code);
  traceagent::tools::add_recover_command(app, exit_code);
  traceagent::tools::add_check_command(app, exit_code);
  traceagent::tools::add_options_command(app, exit_code);
  return traceagent::tools::parse_and_run(app, argc, argv, exit_code);
}
