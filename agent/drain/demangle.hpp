#pragma once
// C++ symbols as people read them, whoever wrote them: a symbol of 172 bytes can stand for a name
// of 142 MB, and one of 120 bytes can take years to read.

#include <cstddef>
#include <string>

namespace traceagent::drain {

inline constexpr std::size_t longest_demangled_bytes = std::size_t{32} << 10;

// Empty where the symbol is none of C++'s, or its name is longer than that, or would take too long.
std::string demangled(const char* symbol);

}  // namespace traceagent::drain
