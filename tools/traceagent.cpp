#include <CLI/CLI.hpp>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "config/nearest.hpp"
#include "tools/command_line.hpp"
#include "tools/exit_line.hpp"
#include "tools/open_files.hpp"
#include "tools/out_of_memory.hpp"
#include "tools/plain_output.hpp"

namespace {

// One line; empty where the first word is a command or an option.
std::string unknown_command(const CLI::App& app, std::string_view word) {
  if (word.starts_with('-')) return {};
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  std::vector<std::string_view> names;
  for (const CLI::App* command : commands) {
    if (command->get_name() == word) return {};
    names.push_back(command->get_name());
  }
  return "unknown command: " + std::string(word) + ": " +
         traceagent::config::nearest_in_words(word, names) + "; see traceagent --help";
}

int run_tool(int argc, char** argv) {
  const traceagent::tools::PlainOutput output(std::cout);
  const traceagent::tools::PlainOutput errors(std::cerr);
  if (argc > 1 && std::string_view(argv[1]) == "run") {
    return traceagent::tools::run_main("traceagent run", argc - 1, argv + 1);
  }
  if (argc > 1 && std::string_view(argv[1]) == "upload") {
    return traceagent::tools::become_uploader(argv);
  }
  traceagent::tools::allow_many_open_files();
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
  traceagent::tools::add_upload_command(app);
  traceagent::tools::add_check_command(app, exit_code);
  traceagent::tools::add_options_command(app, exit_code);
  if (argc > 1) {
    const std::string problem = unknown_command(app, argv[1]);
    if (!problem.empty()) {
      traceagent::tools::say(problem);
      return traceagent::tools::exit_usage;
    }
  }
  return traceagent::tools::parse_and_run(app, argc, argv, exit_code);
}

}  // namespace

// Before what is made while the program is loaded: there may be no memory for that either.
[[gnu::constructor(101)]] static void prepare_to_terminate() noexcept {
  traceagent::tools::end_with_a_line_at_terminate();
}

int main(int argc, char** argv) try {
  return traceagent::tools::tell_exit(run_tool(argc, argv));
} catch (const std::bad_alloc&) {
  traceagent::tools::say_out_of_memory();
  return traceagent::tools::tell_exit(traceagent::tools::exit_bad_data);
}
