#pragma once
// Kernels' names as people read them, each demangled once. In bounded memory: a name that would
// take too much of it stays as the compiler wrote it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

class DemangledNames {
 public:
  // Of all names together: a job of 10,000 kernels needs 4 MiB.
  static constexpr std::size_t usual_bytes = std::size_t{32} << 20;

  explicit DemangledNames(const ring::Ring& ring, std::size_t most_bytes = usual_bytes)
      : ring_(ring), left_bytes_(most_bytes) {}

  // By the name's offset in the ring. Valid as long as this object and the ring.
  std::string_view name(std::uint32_t offset);

 private:
  ring::Ring ring_;
  std::unordered_map<std::uint32_t, std::string> names_;
  std::size_t left_bytes_;
};

}  // namespace traceagent::drain
