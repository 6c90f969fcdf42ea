#pragma once

#include <cstddef>

namespace simgpu::cudart {

/// A registered __device__ variable; its memory comes with its first use.
struct Variable {
  void* address = nullptr;
  std::size_t bytes = 0;
};

/// nullptr for a symbol that no program registered.
const Variable* variable_of(const void* symbol);

}  // namespace simgpu::cudart
