#pragma once

#include <CLI/CLI.hpp>

namespace traceagent::tools {

// What a path on the command line must be. CLI11's own call every error a file that does not exist.
CLI::Validator is_there();
CLI::Validator is_file();
CLI::Validator is_folder();

}  // namespace traceagent::tools
