#pragma once

namespace simgpu {

/// A call that no program makes, only an agent that got its wrapping wrong: one line, then abort.
[[noreturn]] void misuse(const char* function, const char* what);

}  // namespace simgpu
