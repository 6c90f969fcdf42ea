// Exceptions thrown and caught in many threads while all of them call.
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/transparency/work.hpp"

using namespace traceagent::transparency;

namespace {
[[gnu::noinline]] void throw_from(int depth) {
  if (depth == 0) throw std::runtime_error(std::string(100, 'x'));
  throw_from(depth - 1);
  call_often(1);
}
}  // namespace

int main() {
  call_often();
  std::atomic<int> caught{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 16; ++i) {
    threads.emplace_back([&] {
      for (int turn = 0; turn < 100; ++turn) {
        try {
          throw_from(turn % 10);
        } catch (const std::exception&) {
          ++caught;
        }
        call_often(2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  say("caught %d\n", caught.load());
  say_state("end");
  return 0;
}
