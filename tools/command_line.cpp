#include "tools/command_line.hpp"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <new>

#include "tools/out_of_memory.hpp"

namespace traceagent::tools {

namespace {

std::string help_command(const CLI::App& app) {
  const auto subcommands = app.get_subcommands();
  const std::string name = subcommands.empty() ? "" : " " + subcommands.front()->get_name();
  return app.get_name() + name + " --help";
}

std::string one_line(std::string text) {
  for (char& c : text) {
    c = c == '\n' ? ' ' : c;
  }
  return text;
}

int parse(CLI::App& app, int argc, const char* const* argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      return app.exit(error);
    }
    say("bad command line: " + one_line(error.what()) + ": see " + help_command(app));
    return exit_usage;
  } catch (const std::bad_alloc&) {
    say_out_of_memory();
    return exit_bad_data;
  } catch (const std::filesystem::filesystem_error& error) {
    // Its own words begin with the name of a function, and end with the file's.
    const std::string path = one_line(error.path1().string());
    say("file system: " + (path.empty() ? "a folder is not read whole" : path) + ": " +
        error.code().message());
    return exit_bad_data;
  } catch (const std::exception& error) {
    say(one_line(error.what()));
    return exit_bad_data;
  }
  return exit_code;
}

}  // namespace

int parse_and_run(CLI::App& app, int argc, const char* const* argv, const int& exit_code) {
  return if_printed(parse(app, argc, argv, exit_code));
}

int if_printed(int exit_code) {
  if (std::cout.flush()) return exit_code;
  say_output_cut();
  return exit_bad_data;
}

void say(const std::string& line) { std::cerr << "traceagent: " + line + "\n"; }

}  // namespace traceagent::tools
