#pragma once

namespace traceagent::faults {

/// Where a call of `name` is to go instead; null: where it went before.
using Replacement = void* (*)(const char* name);

/// Puts replacements into the slots through which the loaded object `file` ("libtraceagent.so"; the
/// program itself by its file's name) calls other objects. The rest of the process keeps the real
/// functions: nothing is interposed. Returns the object's load address, null where it is not
/// loaded.
const char* patch_object(const char* file, Replacement replacement) noexcept;

}  // namespace traceagent::faults
