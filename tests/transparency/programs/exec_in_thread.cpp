// A thread of several makes the process another program.
#include <atomic>
#include <thread>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

int main() {
  call_often();
  // A thread that starts another has every signal blocked for a moment, as the new one has.
  std::atomic<int> begun{0};
  std::thread busy([&] {
    for (bool is_first = true;; is_first = false) {
      call_often(10);
      if (is_first) ++begun;
    }
  });
  std::thread other([&] {
    call_often();
    while (begun.load() < 2) usleep(100);
    say_state("end");
    execl("/bin/echo", "echo", "another program", nullptr);
  });
  ++begun;
  other.join();
  busy.join();
  return 9;
}
