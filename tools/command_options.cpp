#include <CLI/CLI.hpp>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "config/option_keys.hpp"
#include "config/reference.hpp"
#include "tools/command_line.hpp"

namespace traceagent::tools {

namespace {

std::string nearest_in_words(const std::string& name) {
  return config::is_unknown_variable(name) ? config::nearest_variable_in_words(name)
                                           : config::nearest_key_in_words(name);
}

// Of an option's key or variable, or of all that a group has; empty: there is none such.
std::string text_of(const std::string& name) {
  const config::OptionRow* row = config::find_option(name);
  if (row == nullptr) row = config::find_option_of_variable(name);
  return row == nullptr ? config::group_reference_text(name) : config::option_reference_text(*row);
}

// Nothing is printed where one is not known.
int print_options(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) {
    const std::string of_name = text_of(name);
    if (of_name.empty()) {
      say("unknown option: " + name + ": " + nearest_in_words(name) + "; see traceagent options");
      return exit_usage;
    }
    text += of_name;
  }
  std::cout << (names.empty() ? config::options_reference_text() : text);
  return std::cout.good() ? exit_ok : exit_bad_data;
}

}  // namespace

void add_options_command(CLI::App& app, int& exit_code) {
  CLI::App* const command =
      app.add_subcommand("options", "Print every option with its default and meaning");
  const auto names = std::make_shared<std::vector<std::string>>();
  command->add_option("names", *names,
                      "Only these options, such as ring.size or TRACEAGENT_RING_SIZE, or groups of "
                      "them, such as ring");
  command->footer(
      "examples:\n"
      "  traceagent options\n"
      "  traceagent options ring.size\n"
      "  traceagent options ring\n"
      "  traceagent options | grep -A2 ring");
  command->callback([names, &exit_code] { exit_code = print_options(*names); });
}

}  // namespace traceagent::tools
