#pragma once

#include <cstddef>

namespace traceagent::faults {

/// Where a call of `name` is to go instead; null: where it went before.
using Replacement = void* (*)(const char* name);

/// Where an object is loaded; null and 0: it is not.
struct Extent {
  const char* base;
  std::size_t bytes;
};

/// Puts replacements into the slots through which the loaded object `file` ("libtraceagent.so"; the
/// program itself by its file's name) calls other objects. The rest of the process keeps the real
/// functions: nothing is interposed.
Extent patch_object(const char* file, Replacement replacement) noexcept;

}  // namespace traceagent::faults
