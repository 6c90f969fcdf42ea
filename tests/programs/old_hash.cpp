// A library as old linkers make them, with a System V hash table alone, which has a hooked function
// of its own and asks for it.
#include <dlfcn.h>

extern "C" [[gnu::visibility("default")]] int ncclMemFree(void*) { return 0; }
extern "C" [[gnu::visibility("default")]] const char* ask_for_own() {
  return dlsym(RTLD_DEFAULT, "ncclMemFree") != nullptr ? "found" : "nobody";
}
