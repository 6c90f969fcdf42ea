// CUPTI switched on and off, and let go of entirely (cuptiFinalize) at the end of one of the job's
// own calls, again and again, while threads launch kernels and graphs. usage: cupti_detach LIBCUPTI
// ROUNDS [no-graphs | late-graphs] [quiet]; the agent is not loaded. late-graphs: each is made
// anew. quiet: while it is let go of, no thread is in a call and the device has nothing to do.
// Prints how long letting go held the call, and whether the sums are right.
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <set>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include "cupti_library.cuh"
#include "gpu_program.cuh"

namespace device = traceagent::device;
using device::ActivityKind;
using gpu::cupti, gpu::finalize_cupti, gpu::request_buffer;
using Clock = std::chrono::steady_clock;

constexpr int threads = 4, count = 1 << 12;
constexpr std::uint32_t most_functions = 2048;
constexpr ActivityKind kinds[] = {ActivityKind::concurrent_kernel, ActivityKind::copy,
                                  ActivityKind::set, ActivityKind::runtime, ActivityKind::driver};

extern "C" __global__ void add_one(float* data, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1.0f;
}

static void* subscriber = nullptr;
static std::atomic<long> kernels, failures;
static std::atomic<bool> let_go{false}, over{false};
static std::vector<double> held_us;
static std::set<std::string> words;
static std::shared_mutex calls;
static std::atomic<bool> wants_quiet{false};  // glibc's lock lets readers by for ever

static void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (void* at = nullptr; cupti.next_record(buffer, valid, &at) == 0;) {
    kernels += device::load<ActivityKind>(static_cast<const std::byte*>(at), 0) ==
               ActivityKind::concurrent_kernel;
  }
  std::free(buffer);
}

static void let_cupti_go() {
  const auto begin = Clock::now();
  failures += cupti.unsubscribe(subscriber) != 0;
  failures += finalize_cupti() != 0;
  held_us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
}

// CUpti_CallbackData begins with the place: 0 at the call's begin, 1 at its end.
static void on_call(void*, int, std::uint32_t, const void* data) {
  if (*static_cast<const int*>(data) == 1 && let_go.exchange(false)) let_cupti_go();
}

static void on() {
  failures += cupti.subscribe(&subscriber, on_call, nullptr) != 0;
  failures += cupti.register_callbacks(request_buffer, complete) != 0;
  for (const ActivityKind kind : kinds)
    failures += cupti.enable(static_cast<std::uint32_t>(kind)) != 0;
}

static void watch_launches() {
  for (const int domain : {device::cupti_domain::driver, device::cupti_domain::runtime}) {
    for (std::uint32_t id = 1; id < most_functions; ++id) {
      const char* name = nullptr;
      if (cupti.get_callback_name(domain, id, &name) != 0 || name == nullptr) continue;
      if (std::strstr(name, "Launch") != nullptr) cupti.enable_callback(1, subscriber, domain, id);
    }
  }
}

static void off() {
  for (const ActivityKind kind : kinds)
    failures += cupti.disable(static_cast<std::uint32_t>(kind)) != 0;
  failures += cupti.flush_all(1) != 0;
  if (words.count("quiet") != 0) {
    wants_quiet = true;
    const std::unique_lock<std::shared_mutex> nobody_calls(calls);
    CHECK(cudaDeviceSynchronize());
    let_cupti_go();
    wants_quiet = false;
    return;
  }
  let_go = true;
  watch_launches();
  for (int tries = 0; let_go && tries < 1000; ++tries) usleep(1000);
  usleep(2000);
}

static cudaGraphExec_t graph_of(cudaStream_t stream, float* data) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 3; ++i) add_one<<<count / 256, 256, 0, stream>>>(data, count);
  CHECK(cudaStreamEndCapture(stream, &graph));
  CHECK(cudaGraphInstantiate(&executable, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  return executable;
}

static long launch_until_over(float* data) {
  const bool has_graphs = words.count("no-graphs") == 0, are_late = words.count("late-graphs") != 0;
  cudaStream_t stream = nullptr;
  cudaGraphExec_t graph = nullptr;
  {
    const std::shared_lock<std::shared_mutex> calling(calls);
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (has_graphs) graph = graph_of(stream, data);
  }
  long added = 0;
  while (!over) {
    while (wants_quiet) std::this_thread::yield();
    const std::shared_lock<std::shared_mutex> calling(calls);
    for (int i = 0; i < 20; ++i) add_one<<<count / 256, 256, 0, stream>>>(data, count);
    if (has_graphs) CHECK(cudaGraphLaunch(graph, stream));
    CHECK(cudaStreamSynchronize(stream));
    added += has_graphs ? 23 : 20;
    if (are_late && added % 100 < 23) {
      CHECK(cudaGraphExecDestroy(graph));
      graph = graph_of(stream, data);
    }
  }
  return added;
}

int main(int argc, char** argv) {
  if (argc < 3 || !gpu::open_cupti(argv[1])) return 77;
  words.insert(argv + 3, argv + argc);
  std::vector<float*> data(threads);
  std::vector<long> added(threads);
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    CHECK(cudaMalloc(&data[t], count * sizeof(float)));
    CHECK(cudaMemset(data[t], 0, count * sizeof(float)));
    running.emplace_back([&, t] { added[t] = launch_until_over(data[t]); });
  }
  const int rounds = std::atoi(argv[2]);
  for (int round = 0; round < rounds; ++round) {
    on();
    usleep(20'000);
    off();
  }
  over = true;
  for (std::thread& thread : running) thread.join();
  int wrong = 0;
  // Beyond 2^24 a float adds no more ones: so long no run is.
  for (int t = 0; t < threads; ++t)
    wrong += gpu::sum_of(data[t], count) != double(added[t]) * count;
  std::sort(held_us.begin(), held_us.end());
  std::printf("rounds %d let_go %zu kernels %ld failures %ld wrong %d held_us %.0f to %.0f\n",
              rounds, held_us.size(), kernels.load(), failures.load(), wrong,
              held_us.empty() ? 0 : held_us[0], held_us.empty() ? 0 : held_us.back());
  return wrong;
}
