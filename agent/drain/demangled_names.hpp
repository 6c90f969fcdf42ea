#pragma once
// Kernels' names as people read them, each demangled once.

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "agent/ring/ring.hpp"

namespace traceagent::drain {

class DemangledNames {
 public:
  explicit DemangledNames(const ring::Ring& ring) : ring_(ring) {}

  // By the name's offset in the ring. Valid as long as this object.
  std::string_view name(std::uint32_t offset);

 private:
  ring::Ring ring_;
  std::unordered_map<std::uint32_t, std::string> names_;
};

}  // namespace traceagent::drain
