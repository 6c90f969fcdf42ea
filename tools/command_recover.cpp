#include "tools/command_line.hpp"

namespace traceagent::tools {

// Its place; filled by whoever reads rings into rank files (agent/drain).
void add_recover_command(CLI::App& app, int& exit_code) {
  static_cast<void>(app);
  static_cast<void>(exit_code);
}

}  // namespace traceagent::tools
