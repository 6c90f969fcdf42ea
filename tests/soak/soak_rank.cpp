// One rank of the soak: two threads that make numbered events at a steady pace until they are told
// to stop or killed. Every step begins with a cudaDeviceSynchronize, while the other thread waits.
//
//   soak_rank PAGE EVENTS_PER_SECOND STEP_MS LEAK_BYTES
// LEAK_BYTES: lost in every step, as by an agent that leaks.
#include <cuda_runtime_api.h>
#include <fcntl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/soak/shared_page.hpp"

using traceagent::soak::SharedPage;

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto burst_period = std::chrono::milliseconds(5);
constexpr std::uint64_t memset_bytes = 4096;

struct Job {
  SharedPage* page = nullptr;
  std::size_t leak_bytes = 0;  // in every step
  std::uint64_t bursts_per_step = 1;
  std::uint64_t events_per_burst = 1;  // of one thread
  void* memory = nullptr;
  cudaStream_t streams[traceagent::soak::rank_threads] = {};
};

nvtxEventAttributes_t numbered(std::uint64_t number) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "soak";
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = number;
  return attributes;
}

// One event in ten is work for the device, and tells its number by its size.
void make_event(const Job& job, std::size_t thread, std::uint64_t number) {
  if (number % 10 == 9) {
    cudaMemsetAsync(job.memory, 0, 1 + number % memset_bytes, job.streams[thread]);
    return;
  }
  const nvtxEventAttributes_t attributes = numbered(number);
  if (number % 10 == 4) {
    nvtxMarkEx(&attributes);
    return;
  }
  nvtxRangePushEx(&attributes);
  nvtxRangePop();
}

void make_burst(const Job& job, std::size_t thread) {
  std::uint64_t number = job.page->begun[thread].load(std::memory_order_relaxed);
  for (std::uint64_t i = 0; i < job.events_per_burst; ++i) {
    job.page->begun[thread].store(number + 1, std::memory_order_relaxed);
    make_event(job, thread, number);
    job.page->done[thread].store(++number, std::memory_order_relaxed);
  }
}

// Bursts that are late are not made up for: the machine may have stood still.
void make_step(const Job& job, std::size_t thread, Clock::time_point& next) {
  for (std::uint64_t burst = 0; burst < job.bursts_per_step; ++burst) {
    make_burst(job, thread);
    next += burst_period;
    const Clock::time_point now = Clock::now();
    if (now > next + 10 * burst_period) next = now;
    std::this_thread::sleep_until(next);
  }
}

void begin_step(SharedPage& page, std::uint64_t step) {
  for (std::size_t thread = 0; thread < traceagent::soak::rank_threads; ++thread) {
    page.before_step[step][thread].store(page.done[thread].load());
  }
  page.steps_begun.store(step + 1);
  cudaDeviceSynchronize();
  page.steps_marked.store(step + 1);
}

void leak(std::size_t bytes) {
  static std::atomic<void*> last = nullptr;  // the compiler would leave out what nobody sees
  if (bytes == 0) return;
  void* memory = std::malloc(bytes);
  if (memory != nullptr) std::memset(memory, 1, bytes);
  last.store(memory);
}

void run(const Job& job) {
  bool is_over = false;
  std::uint64_t step = 0;
  // The last to arrive begins the next step: all the others wait.
  std::barrier step_edge(traceagent::soak::rank_threads);
  std::thread other([&] {
    Clock::time_point next = Clock::now();
    for (step_edge.arrive_and_wait(); !is_over; step_edge.arrive_and_wait()) {
      make_step(job, 1, next);
      step_edge.arrive_and_wait();
    }
  });
  Clock::time_point next = Clock::now();
  while (!is_over) {
    is_over = job.page->stop.load() != 0 || step == traceagent::soak::most_steps;
    if (!is_over) {
      leak(job.leak_bytes);
      begin_step(*job.page, step++);
    }
    step_edge.arrive_and_wait();
    if (is_over) break;
    make_step(job, 0, next);
    step_edge.arrive_and_wait();
  }
  other.join();
}

SharedPage* map_page(const char* path) {
  const int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(SharedPage)) != 0) return nullptr;
  void* memory = mmap(nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory == MAP_FAILED ? nullptr : static_cast<SharedPage*>(memory);
}

}  // namespace

int main(int argc, char** argv) {
  // Should the harness be killed, its ranks are too.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (argc != 5 || getppid() == 1) return 2;
  Job job;
  job.page = map_page(argv[1]);
  if (job.page == nullptr) return 2;
  const auto events_per_s = static_cast<std::uint64_t>(std::atoll(argv[2]));
  const auto step_ms = static_cast<std::uint64_t>(std::atoll(argv[3]));
  constexpr std::uint64_t burst_ms = burst_period / std::chrono::milliseconds(1);
  job.leak_bytes = static_cast<std::size_t>(std::atoll(argv[4]));
  job.bursts_per_step = step_ms / burst_ms;
  job.events_per_burst = events_per_s * burst_ms / 1000 / traceagent::soak::rank_threads;
  cudaMalloc(&job.memory, memset_bytes);
  for (cudaStream_t& stream : job.streams) cudaStreamCreate(&stream);
  run(job);
  cudaFree(job.memory);
  return 3;  // what a wrapper or a hook could lose
}
