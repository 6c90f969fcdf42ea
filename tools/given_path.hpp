#pragma once

// CLI11 is seconds of work for a compiler: only who parses includes it.
namespace CLI {
class Validator;
}  // namespace CLI

namespace traceagent::tools {

// What a path on the command line must be. CLI11's own call every error a file that does not exist.
// That one is not there is no bad command line: they throw std::runtime_error with the line that
// `traceagent merge` has for it, and all commands end with 1.
CLI::Validator is_there();
CLI::Validator is_file();
CLI::Validator is_folder();

}  // namespace traceagent::tools
