#pragma once

#include <string>

#include "tools/upload/uploader.hpp"

namespace traceagent::tools {

// Uploads what a journal has queued, when it is this process's turn. False where files wait, or the
// server has parts that nobody will join. Throws std::runtime_error.
bool work_off(const std::string& folder, const std::string& journal_path,
              const UploaderOptions& options, const Tell& tell);

}  // namespace traceagent::tools
