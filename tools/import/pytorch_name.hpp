#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace traceagent::tools {

// What PyTorch's own handlers call a file, where the program gives no worker_name:
//   <host>_<pid>.<time>.pt.trace.json, perhaps .gz
// A program's names may look alike ("rank_3"): they count where the file has such a process.
struct PyTorchName {
  std::string host;
  std::int64_t pid = 0;

  auto operator<=>(const PyTorchName&) const = default;
};

// Nothing where the name is another's, or "localhost", which many hosts are.
std::optional<PyTorchName> pytorch_name(std::string_view path);

}  // namespace traceagent::tools
