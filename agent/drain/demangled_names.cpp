#include "agent/drain/demangled_names.hpp"

#include <algorithm>

#include "agent/drain/demangle.hpp"

namespace traceagent::drain {

std::string_view DemangledNames::name(std::uint32_t offset) {
  const std::string_view symbol = ring_.name(offset);
  // A kernel that is called "f" is no type float.
  if (!symbol.starts_with("_Z")) return symbol;
  const auto [found, is_new] = names_.try_emplace(offset);
  if (is_new && left_bytes_ > 0) {
    found->second = demangled(std::string(symbol).c_str());
    left_bytes_ -= std::min(left_bytes_, found->second.size());
  }
  return found->second.empty() ? symbol : found->second;
}

}  // namespace traceagent::drain
