// How long the longest calls take: each call of a recorded launch timed by itself, while the drain
// thread writes the window before to a file, beside the same call of a library that does nothing,
// and beside one that does nothing for about as long: whatever interrupts this machine meets a
// longer call more often, and at 1,000 interrupts a second one call of 100 ns in 10,000.
// The job is pinned to all CPUs but the first, the drain thread to the first.
//
//   latency_bench [CALLS_PER_THREAD]
#include <cuda_runtime_api.h>
#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "agent/event/clock_anchor.hpp"
#include "agent/event/ticks.hpp"
#include "tests/bench/traced_process.hpp"

extern "C" cudaError_t plainLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);

namespace traceagent::bench {
namespace {

constexpr int kernel_stub = 0;
constexpr int rounds = 5;
// More than the second-level cache of any machine this is run on.
constexpr std::size_t evicting_bytes = std::size_t{4} << 20;

using Ticks = std::vector<std::uint32_t>;

void plain() { plainLaunchKernel(&kernel_stub, {64}, {256}, nullptr, 0, nullptr); }
void hooked() { cudaLaunchKernel(&kernel_stub, {64}, {256}, nullptr, 0, nullptr); }

std::uint64_t ticks_to_wait = 0;

void waiting() {
  const std::uint64_t begin = event::read_ticks();
  plain();
  while (event::read_ticks() - begin < ticks_to_wait) {
  }
}

void pin(pid_t thread, bool to_first) {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  const long count = sysconf(_SC_NPROCESSORS_ONLN);
  for (long cpu = 0; cpu < count; ++cpu) {
    if ((cpu == 0) == to_first) CPU_SET(static_cast<std::size_t>(cpu), &cpus);
  }
  sched_setaffinity(thread, sizeof cpus, &cpus);
}

void pin_all() {
  DIR* threads = opendir("/proc/self/task");
  while (const dirent* entry = readdir(threads)) {
    if (entry->d_name[0] == '.') continue;
    std::string name;
    std::getline(std::ifstream("/proc/self/task/" + std::string(entry->d_name) + "/comm"), name);
    pin(std::atoi(entry->d_name), name.starts_with("traceagent"));
  }
  closedir(threads);
}

// Walks memory between the calls, so that each finds its code and data out of the near caches.
class Eviction {
 public:
  explicit Eviction(bool wanted) : bytes_(wanted ? evicting_bytes : 0) {}
  void run() noexcept {
    for (std::size_t i = 0; i < bytes_.size(); i += 64) ++bytes_[i];
    asm volatile("" : : "r"(bytes_.data()) : "memory");
  }

 private:
  std::vector<unsigned char> bytes_;
};

void time_calls(void (*call)(), bool cold, Ticks& ticks) {
  Eviction eviction(cold);
  call();
  for (std::uint32_t& took : ticks) {
    eviction.run();
    const std::uint64_t begin = event::read_ticks();
    call();
    took = static_cast<std::uint32_t>(
        std::min<std::uint64_t>(event::read_ticks() - begin, UINT32_MAX));
  }
}

void run_threads(void (*call)(), bool cold, std::vector<Ticks>& of_threads) {
  std::barrier together(static_cast<std::ptrdiff_t>(of_threads.size()));
  std::vector<std::thread> threads;
  for (Ticks& ticks : of_threads) {
    threads.emplace_back([&] {
      pin(0, false);
      together.arrive_and_wait();
      time_calls(call, cold, ticks);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

struct Setting {
  const char* name;
  std::size_t threads;
  bool cold;
};

void print(const char* what, const Setting& setting, Ticks& all, double ns_per_tick) {
  std::ranges::sort(all);
  const auto at = [&](double share) {
    const auto index = static_cast<std::size_t>(share * static_cast<double>(all.size()));
    return ns_per_tick * all[std::min(index, all.size() - 1)];
  };
  std::printf("%-10s %-5s %7zu %10zu %8.0f %8.0f %8.0f %10.0f\n", what, setting.name,
              setting.threads, all.size(), at(0.5), at(0.99), at(0.9999), at(1));
  std::fflush(stdout);
}

// Step by step: the window of each round is written while the next one is recorded.
Ticks measure(void (*call)(), const Setting& setting, std::size_t calls) {
  Ticks all;
  std::vector<Ticks> of_threads(setting.threads, Ticks(calls / setting.threads));
  for (int round = 0; round < rounds; ++round) {
    begin(Step::recording_for_a_file);
    run_threads(call, setting.cold, of_threads);
    for (const Ticks& ticks : of_threads) all.insert(all.end(), ticks.begin(), ticks.end());
  }
  return all;
}

void run(std::size_t calls) {
  event::choose_tick_source();
  const double ns_per_tick = event::measure_tick_rate().ns_per_tick;
  enter(Step::recording_for_nothing);
  hooked();
  pin_all();
  std::printf("%-10s %-5s %7s %10s %8s %8s %8s %10s  (ns)\n", "call", "", "threads", "calls", "p50",
              "p99", "p99.99", "max");
  for (const Setting& setting :
       {Setting{"warm", 1, false}, Setting{"warm", 2, false}, Setting{"warm", 16, false},
        Setting{"cold", 1, true}, Setting{"cold", 2, true}, Setting{"cold", 16, true}}) {
    const std::uint64_t dropped_before = dropped();
    Ticks without = measure(plain, setting, calls), with = measure(hooked, setting, calls);
    print("plain", setting, without, ns_per_tick);
    print("recorded", setting, with, ns_per_tick);
    ticks_to_wait = with[with.size() / 2];
    Ticks as_long = measure(waiting, setting, calls);
    print("as long", setting, as_long, ns_per_tick);
    if (dropped() != dropped_before) std::printf("the ring was full: fewer calls are needed\n");
  }
}

}  // namespace
}  // namespace traceagent::bench

int main(int argc, char** argv) {
  const int result = traceagent::bench::run_traced(argv);
  if (result >= 0) return result;
  traceagent::bench::run(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 40'000);
  return 0;
}
