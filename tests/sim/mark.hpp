#pragma once

#include <dlfcn.h>

#include <cstdint>

/// Leaves a mark in the simulated GPU's truth, and does nothing on real libraries: how a test
/// program says what it did, for instance which optimizer step it has just finished.
inline void simgpu_mark(const char* name, std::uint64_t count) {
  using Mark = void (*)(const char*, std::uint64_t);
  static const auto mark = reinterpret_cast<Mark>(dlsym(RTLD_DEFAULT, "simgpu_leave_mark"));
  if (mark != nullptr) {
    mark(name, count);
  }
}
