#pragma once

#include <string>

namespace traceagent::tools {

// A new folder of this process's own in `parent`, hidden; removes what imports that were killed
// left there a day ago or earlier. It goes, too, when a signal (SIGINT, SIGTERM, SIGHUP) ends the
// process: there is one at a time. Empty, and then `problem` is one line: it cannot be made.
std::string make_import_folder(const std::string& parent, std::string& problem);

// Nothing where `folder` is empty. What cannot be removed is said.
void remove_import_folder(const std::string& folder) noexcept;

}  // namespace traceagent::tools
