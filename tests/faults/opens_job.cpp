// Linked to nothing of CUDA's: it opens the small job as a library, whose libraries are then nobody
// else's to find, and ends as that says.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  void* job = dlopen("libopened_job.so", RTLD_NOW | RTLD_LOCAL);
  void* run = job != nullptr ? dlsym(job, "run_small_job") : nullptr;
  if (run == nullptr) {
    std::printf("%s\n", dlerror());
    return 1;
  }
  return reinterpret_cast<int (*)(int, char**)>(run)(argc, argv);
}
