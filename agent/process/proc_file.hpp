#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace traceagent::process {

// A file of /proc, whose size is not known before it is read; cut at about `most_bytes`. Nothing
// where it cannot be opened.
std::optional<std::string> read_proc_file(const std::string& path, std::size_t most_bytes);

}  // namespace traceagent::process
