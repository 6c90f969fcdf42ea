#include "agent/drain/demangle.hpp"

#include <csetjmp>
#include <cstring>
#include <string_view>

// libstdc++'s __gcclibcxx_demangle_callback, as its own debug mode uses it: hands the name over
// piece by piece, and allocates nothing.
extern "C" int traceagent_demangle_callback(const char* symbol,
                                            void (*take)(const char*, std::size_t, void*),
                                            void* opaque);

namespace traceagent::drain {
namespace {

struct Output {
  char* text;
  std::size_t size;
  std::jmp_buf full;
};

// A jump is the only way to stop it. It is C, and holds nothing that would have to be let go.
void take(const char* text, std::size_t size, void* opaque) {
  auto& output = *static_cast<Output*>(opaque);
  if (size > longest_demangled_bytes - output.size) std::longjmp(output.full, 1);
  std::memcpy(output.text + output.size, text, size);
  output.size += size;
}

// No objects with destructors in here: the jump passes them over.
bool write(const char* symbol, Output& output) {
  if (setjmp(output.full) != 0) return false;
  return traceagent_demangle_callback(symbol, take, &output) == 0;
}

// Each conversion operator within another's type is read twice, so that 40 of them never end. This
// counts "recv" too, and no kernel has that many of either.
bool takes_too_long(std::string_view symbol) {
  constexpr int most_conversions = 12;
  int conversions = 0;
  for (std::size_t at = symbol.find("cv"); at != symbol.npos; at = symbol.find("cv", at + 2)) {
    if (++conversions > most_conversions) return true;
  }
  return false;
}

}  // namespace

std::string demangled(const char* symbol) {
  if (takes_too_long(symbol)) return {};
  std::string text(longest_demangled_bytes, '\0');
  Output output{text.data(), 0, {}};
  if (!write(symbol, output)) return {};
  return text.substr(0, output.size);
}

}  // namespace traceagent::drain
