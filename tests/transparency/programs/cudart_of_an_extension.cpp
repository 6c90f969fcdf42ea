// Extensions that are opened for themselves (RTLD_LOCAL), each with a libcudart that nobody else
// sees.
//
//   cudart_of_an_extension EXTENSION ["lookup" | "call"]
//
// With a second word libcudart.so.12 has been in a namespace of its own before, was looked up or
// called there, and was closed.
#include <dlfcn.h>
#include <sys/mman.h>

#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

// What lay there is used again: as in a job that goes on.
void fill_holes() {
  for (int i = 0; i < 200; ++i) {
    mmap(nullptr, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
}

int open_apart(bool calls) {
  void* handle = dlmopen(LM_ID_NEWLM, "libcudart.so.12", RTLD_NOW);
  if (handle == nullptr) return -1;
  const auto last_error = reinterpret_cast<int (*)()>(dlsym(handle, "cudaGetLastError"));
  const auto set =
      reinterpret_cast<int (*)(void*, int, std::size_t, void*)>(dlsym(handle, "cudaMemsetAsync"));
  int memory = 0;
  const int result = calls ? set(&memory, 7, sizeof memory, nullptr) + last_error() : 0;
  dlclose(handle);
  fill_holes();
  return result;
}

}  // namespace

int main(int count, char** words) {
  if (count > 2) say("apart: %d\n", open_apart(std::strcmp(words[2], "call") == 0));
  void* extension = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (extension == nullptr) {
    say("%s\n", dlerror());
    return 9;
  }
  const auto call = reinterpret_cast<int (*)(int)>(dlsym(extension, "call_library"));
  say("calls: %d\n", call(100));
  say_state("end");
  return 3;
}
