// Forks in one thread while others call: the first, or another: fork_while_tracing FORKS
// [in_thread].
#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {

// How many children end as they should.
int fork_often(int forks) {
  int good = 0;
  for (int i = 0; i < forks; ++i) {
    // A third of the children ends by exit, with all the handlers that they have inherited.
    const int code = in_child([i]() -> int {
      call_often(3);
      if (i % 3 == 0) std::exit(5);
      if (i % 3 == 1) std::quick_exit(5);
      return 5;
    });
    good += code == 5 ? 1 : 0;
  }
  return good;
}

}  // namespace

int main(int argc, char** argv) {
  const int forks = argc > 1 ? std::atoi(argv[1]) : 20;
  std::atomic<bool> stop{false};
  call_often();
  std::vector<std::thread> busy;
  const auto call_until_stopped = [&] {
    while (!stop.load()) {
      call_often(50);
      usleep(200);
    }
  };
  for (int i = 0; i < 2; ++i) busy.emplace_back(call_until_stopped);
  int good = 0;
  if (argc > 2) {
    std::thread forking([&] {
      good = fork_often(forks);
      stop.store(true);
    });
    call_until_stopped();
    forking.join();
  } else {
    good = fork_often(forks);
    stop.store(true);
  }
  for (std::thread& thread : busy) thread.join();
  say("good children %d of %d\n", good, forks);
  say_state("end");
  return good == forks ? 0 : 1;
}
