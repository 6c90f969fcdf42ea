// Opens libcudart itself, for itself, and looks each function up: linked to none.
#include <dlfcn.h>

#include <cstddef>

#include "tests/transparency/libraries/user.hpp"

namespace {

template <class Function>
Function look_up(const char* name) {
  static void* const library = dlopen("libcudart.so.12", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace

int call_library(int times) {
  static const auto synchronize = look_up<int (*)()>("cudaDeviceSynchronize");
  static const auto fill = look_up<int (*)(void*, int, std::size_t, void*)>("cudaMemsetAsync");
  static const auto last_error = look_up<int (*)()>("cudaGetLastError");
  int result = synchronize(), memory = 0;
  for (int i = 0; i < times; ++i) result += fill(&memory, 7, sizeof memory, nullptr);
  return 1000 * result + last_error();
}
