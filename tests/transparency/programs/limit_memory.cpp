// RLIMIT_AS a little above what is used, before or after the first call: the program still gets its
// memory.
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
rlim_t used_bytes() {
  unsigned long pages = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "re");
  if (file == nullptr || std::fscanf(file, "%lu", &pages) != 1) std::exit(9);
  std::fclose(file);
  return pages * 4096;
}
}  // namespace

int main(int, char** argv) {
  const bool is_after = std::strcmp(argv[1], "after") == 0;
  // 40 MiB hold the simulated GPU's threads, and not the ring.
  if (is_after) call_often();
  usleep(200'000);  // threads that begin reserve their arenas
  const rlim_t bytes = used_bytes() + (is_after ? 24 : 40) * 1024 * 1024UL;
  const rlimit limit{bytes, bytes};
  setrlimit(RLIMIT_AS, &limit);
  say("calls %d\n", call_often());
  void* volatile mine = std::malloc((is_after ? 8 : 16) * 1024 * 1024);
  say("memory %d, calls %d\n", mine != nullptr ? 1 : 0, call_often());
  std::free(mine);
  say_state("end");
  return 3;
}
