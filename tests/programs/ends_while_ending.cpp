// A watchdog thread calls exit(12) while main works on for a while and then ends in its own way:
// usage: ends_while_ending return|exit|_exit|quick_exit|three|none|joined MAIN_MS
// three: another one calls exit(13) between the two. joined: no watchdog; main returns 0, a handler
// at exit waits for a thread, and that calls _exit(7).
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void work(int calls) {
  for (int i = 0; i < calls; ++i) cudaDeviceSynchronize();
}

std::atomic<bool> is_ending{false};
std::thread joined;

void exit_after(int delay_ms, int code) {
  std::thread([=] {
    usleep(static_cast<useconds_t>(delay_ms) * 1000);
    std::exit(code);
  }).detach();
}

void let_a_handler_join() {
  joined = std::thread([] {
    while (!is_ending) usleep(10'000);
    work(1);
    usleep(300'000);
    _exit(7);
  });
  std::atexit([] {
    is_ending = true;
    joined.join();
  });
  work(100);
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string way = words[1];
  work(10);
  if (way == "joined") let_a_handler_join();
  if (way != "none" && way != "joined") exit_after(50, 12);
  if (way == "three") exit_after(300, 13);
  for (int left_ms = std::atoi(words[2]); left_ms > 0; left_ms -= 10) {
    usleep(10'000);
    work(1);
  }
  if (way == "exit") std::exit(1);
  if (way == "_exit") _exit(2);
  if (way == "quick_exit") std::quick_exit(3);
  return 0;
}
