#pragma once

#include <string>

namespace traceagent::ring {

// Whether the file is a copy of a ring into which its process still records: what it holds that
// process writes itself. Of this host and pid namespace alone, and under the ring's name.
bool is_copy_of_living(const std::string& path);

}  // namespace traceagent::ring
