#pragma once

#include <string>

namespace traceagent::drain {

// Makes the folders that `path` lies in (0777 by umask). One line of problem, or empty.
std::string make_parent_folders(const std::string& path);

}  // namespace traceagent::drain
