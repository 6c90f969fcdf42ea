// A watchdog thread calls exit(12) while main works on for a while and then ends in its own way:
// usage: ends_while_ending return|exit|_exit|quick_exit|none MAIN_MS
#include <cuda_runtime_api.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

namespace {

void work(int calls) {
  for (int i = 0; i < calls; ++i) cudaDeviceSynchronize();
}

}  // namespace

int main(int count, char** words) {
  if (count != 3) return 2;
  const std::string way = words[1];
  work(10);
  if (way != "none") {
    std::thread([] {
      usleep(50'000);
      std::exit(12);
    }).detach();
  }
  for (int left_ms = std::atoi(words[2]); left_ms > 0; left_ms -= 10) {
    usleep(10'000);
    work(1);
  }
  if (way == "exit") std::exit(1);
  if (way == "_exit") _exit(2);
  if (way == "quick_exit") std::quick_exit(3);
  return 0;
}
