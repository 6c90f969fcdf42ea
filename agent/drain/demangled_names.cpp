#include "agent/drain/demangled_names.hpp"

#include <cxxabi.h>

#include <cstdlib>

namespace traceagent::drain {

std::string_view DemangledNames::name(std::uint32_t offset) {
  const auto [found, is_new] = names_.try_emplace(offset);
  if (!is_new) return found->second;
  found->second = ring_.name(offset);
  // A kernel that is called "f" is no type float.
  if (!found->second.starts_with("_Z")) return found->second;
  int status = 0;
  char* text = abi::__cxa_demangle(found->second.c_str(), nullptr, nullptr, &status);
  if (status == 0 && text != nullptr) found->second = text;
  std::free(text);
  return found->second;
}

}  // namespace traceagent::drain
