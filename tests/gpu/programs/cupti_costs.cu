// What each part of CUPTI costs a launch of an empty kernel and a call that launches nothing, in ns
// of the calling thread, and which records it gives, in one process: stages (cupti_stages.cuh) in
// the order given, each measured once it is on.
// usage: cupti_costs LIBCUPTI STAGE...; the agent is not loaded. Prints "STAGE NS CHEAP_NS
// RECORDS", where RECORDS are kernels, runtime's calls and driver's calls for each launch, and
// kernels whose correlation id a callback told of, the driver's or the runtime's.
#include <algorithm>
#include <chrono>
#include <vector>

#include "cupti_stages.cuh"
#include "gpu_program.cuh"

constexpr int launches = 1000, rounds = 15;

extern "C" __global__ void nothing(float*) {}

static std::vector<std::int64_t> launched_ns;

static std::int64_t realtime_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

// Not timed together with the launches' cost: asking for the time costs some, too.
static void note_launches(cudaStream_t stream) {
  launched_ns.clear();
  for (int i = 0; i < launches; ++i) {
    launched_ns.push_back(realtime_ns());
    nothing<<<1, 32, 0, stream>>>(nullptr);
  }
  CHECK(cudaStreamSynchronize(stream));
}

// Of the kernels that were noted, which are the last.
static std::int64_t median_delay_ns() {
  const std::lock_guard<std::mutex> lock(gpu::starts_mutex);
  std::vector<std::int64_t>& starts = gpu::starts_ns;
  // One that is missing would shift all the others by a launch.
  if (starts.size() != static_cast<std::size_t>(launches) * (rounds + 1)) return -1;
  std::sort(starts.begin(), starts.end());
  std::vector<std::int64_t> delays;
  for (std::size_t i = 0; i < launched_ns.size(); ++i)
    delays.push_back(starts[starts.size() - launched_ns.size() + i] - launched_ns[i]);
  std::nth_element(delays.begin(), delays.begin() + launches / 2, delays.end());
  return delays[launches / 2];
}

static double median_ns_of_a_launch(cudaStream_t stream) {
  std::vector<double> each;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) nothing<<<1, 32, 0, stream>>>(nullptr);
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
    CHECK(cudaStreamSynchronize(stream));
    each.push_back(took.count() / launches);
  }
  std::nth_element(each.begin(), each.begin() + rounds / 2, each.end());
  return each[rounds / 2];
}

static double for_each_launch(gpu::ActivityKind kind) {
  return static_cast<double>(gpu::seen[static_cast<int>(kind)]) / (launches * rounds);
}

static void measure(const char* stage, cudaStream_t stream) {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_well = gpu::enter(stage);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  for (auto& count : gpu::seen) count = 0;
  for (auto& count : gpu::kernels_told) count = 0;
  {
    const std::lock_guard<std::mutex> lock(gpu::starts_mutex);
    gpu::starts_ns.clear();
  }
  const double ns = median_ns_of_a_launch(stream);
  const double cheap_ns = gpu::median_ns_of_a_cheap_call();
  gpu::cupti.flush_all(0);
  const double kernels = for_each_launch(gpu::ActivityKind::concurrent_kernel),
               runtime = for_each_launch(gpu::ActivityKind::runtime),
               driver = for_each_launch(gpu::ActivityKind::driver);
  const double told_by_driver = gpu::kernels_told[0] / double{launches * rounds},
               told_by_runtime = gpu::kernels_told[1] / double{launches * rounds};
  note_launches(stream);
  gpu::cupti.flush_all(0);
  std::printf("%s%s %.0f %.1f %.2f %.2f %.2f told %.2f %.2f starts %lld after %.0f us\n", stage,
              is_well ? "" : "(refused)", ns, cheap_ns, kernels, runtime, driver, told_by_driver,
              told_by_runtime, static_cast<long long>(median_delay_ns()), took.count());
}

int main(int argc, char** argv) {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  median_ns_of_a_launch(stream);
  if (argc < 2 || !gpu::open_cupti(argv[1])) return 77;
  gpu::cupti.register_callbacks(gpu::request_buffer, gpu::complete);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // where a stage hangs, the last line says which
  for (int i = 2; i < argc; ++i) measure(argv[i], stream);
  return 0;
}
