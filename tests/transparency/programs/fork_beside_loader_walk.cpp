// Forks while another thread goes through the loader's list of objects, whose lock the child then
// finds taken for ever, and has the child call an extension's functions for the first time.
//
//   fork_beside_loader_walk EXTENSION
#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

std::atomic<bool> is_inside{false}, stop{false};

// Stays there: every fork below finds it inside.
int linger(dl_phdr_info*, std::size_t, void*) {
  is_inside.store(true);
  while (!stop.load()) usleep(1000);
  return 1;
}

}  // namespace

int main(int count, char** words) {
  void* extension = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (extension == nullptr) {
    say("%s\n", dlerror());
    return 9;
  }
  const auto call = reinterpret_cast<int (*)(int)>(dlsym(extension, "call_library"));
  say("parent %d\n", call_often());
  std::thread walker([] { dl_iterate_phdr(linger, nullptr); });
  while (!is_inside.load()) usleep(1000);
  constexpr unsigned patience_s = 10;
  for (int i = 0; i < 3; ++i) {
    const int code = in_child([&] {
      alarm(patience_s);
      return call(3) % 100;
    });
    say("child %d\n", code);
  }
  stop.store(true);
  walker.join();
  say_state("end");
  return 3;
}
