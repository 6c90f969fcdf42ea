#include "tools/folder_options.hpp"

#include <CLI/CLI.hpp>

namespace traceagent::tools {

void add_recursive_option(CLI::App& command, FolderOptions& options) {
  command.add_flag("-r,--recursive", options.recursive,
                   "Enter the folders within folders too, but for hidden ones and links");
}

}  // namespace traceagent::tools
