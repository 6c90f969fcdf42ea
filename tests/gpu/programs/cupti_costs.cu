// What each part of CUPTI costs a launch of an empty kernel, in ns of the launching thread, and
// which records it gives, in one process: stages in the order given, each measured once it is on.
// usage: cupti_costs LIBCUPTI STAGE...; the agent is not loaded. Prints "STAGE NS RECORDS", where
// RECORDS are kernels, runtime's calls and driver's calls for each launch.
//
//   subscribe unsubscribe finalize  as said
//   kernels runtime driver copies others  kinds of records; off-KIND switches one off
//   chosen-runtime chosen-driver  launches, chosen one by one; off-chosen-… takes that back
//   without-runtime without-driver  all but launches of a kind that is on left out, one by one
//   callbacks  of cudaLaunchKernel, doing nothing
//   init  cuInit once more, as NVRTC calls it
#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <vector>

#include "cupti_library.cuh"
#include "gpu_program.cuh"

namespace device = traceagent::device;
using device::ActivityKind;
using gpu::cupti, gpu::finalize_cupti, gpu::request_buffer;

constexpr int launches = 1000, rounds = 15;
constexpr std::uint32_t most_functions = 2048;

extern "C" __global__ void nothing(float*) {}

static void* subscriber = nullptr;
static std::atomic<long> seen[64];

static void complete(void*, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  for (void* at = nullptr; cupti.next_record(buffer, valid, &at) == 0;) {
    const auto kind = device::load<std::uint32_t>(static_cast<const std::byte*>(at), 0);
    if (kind < 64) ++seen[kind];
  }
  std::free(buffer);
}

static void ignore(void*, int, std::uint32_t, const void*) {}

// Calls choose(id) for each function of the domain whose name says whether it launches.
static void for_functions(bool is_driver, bool that_launch,
                          const std::function<void(std::uint32_t)>& choose) {
  for (std::uint32_t id = 1; id < most_functions; ++id) {
    const char* name = nullptr;
    const int domain = is_driver ? device::cupti_domain::driver : device::cupti_domain::runtime;
    if (cupti.get_callback_name(domain, id, &name) != 0 || name == nullptr) continue;
    if ((std::strstr(name, "Launch") != nullptr) == that_launch) choose(id);
  }
}

static void choose_functions(bool is_driver, bool that_launch, bool on) {
  const auto choose = is_driver ? cupti.enable_driver_api : cupti.enable_runtime_api;
  if (choose == nullptr) return;
  for_functions(is_driver, that_launch, [&](std::uint32_t id) { choose(id, on ? 1 : 0); });
}

static std::vector<ActivityKind> kinds_of(const std::string& stage) {
  if (stage == "kernels") return {ActivityKind::concurrent_kernel};
  if (stage == "runtime") return {ActivityKind::runtime};
  if (stage == "driver") return {ActivityKind::driver};
  if (stage == "copies") return {ActivityKind::copy, ActivityKind::peer_copy, ActivityKind::set};
  if (stage == "others")
    return {ActivityKind::memory, ActivityKind::synchronisation, ActivityKind::overhead,
            ActivityKind::stream, ActivityKind::context};
  return {};
}

static bool begin_or_end(const std::string& stage) {
  if (stage == "subscribe") return cupti.subscribe(&subscriber, ignore, nullptr) == 0;
  if (stage == "unsubscribe") return cupti.unsubscribe(subscriber) == 0;
  if (stage == "finalize") return finalize_cupti() == 0;
  if (stage == "callbacks" || stage == "off-callbacks") {
    bool is_well = true;
    for_functions(false, true, [&](std::uint32_t id) {
      is_well &= cupti.enable_callback(stage[0] == 'c', subscriber, device::cupti_domain::runtime,
                                       id) == 0;
    });
    return is_well;
  }
  if (stage == "init") {
    void* const driver = dlopen("libcuda.so.1", RTLD_NOW);
    return reinterpret_cast<int (*)(unsigned)>(dlsym(driver, "cuInit"))(0) == 0;
  }
  return stage == "bare" || stage == "flush";
}

static bool enter(const std::string& stage) {
  const bool off = stage.rfind("off-", 0) == 0;
  const std::string what = off ? stage.substr(4) : stage;
  if (what == "chosen-runtime" || what == "chosen-driver") {
    choose_functions(what == "chosen-driver", true, !off);
    return true;
  }
  if (what == "without-runtime" || what == "without-driver") {
    choose_functions(what == "without-driver", false, off);
    return true;
  }
  const std::vector<ActivityKind> kinds = kinds_of(what);
  for (const ActivityKind kind : kinds) {
    const auto number = static_cast<std::uint32_t>(kind);
    if ((off ? cupti.disable(number) : cupti.enable(number)) != 0) return false;
  }
  return !kinds.empty() || begin_or_end(stage);
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

static double for_each_launch(ActivityKind kind) {
  return static_cast<double>(seen[static_cast<int>(kind)]) / (launches * rounds);
}

static void measure(const char* stage, cudaStream_t stream) {
  const auto begin = std::chrono::steady_clock::now();
  const bool is_well = enter(stage);
  const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
  for (auto& count : seen) count = 0;
  const double ns = median_ns_of_a_launch(stream);
  cupti.flush_all(0);
  std::printf("%s%s %.0f %.2f %.2f %.2f after %.0f us\n", stage, is_well ? "" : "(refused)", ns,
              for_each_launch(ActivityKind::concurrent_kernel),
              for_each_launch(ActivityKind::runtime), for_each_launch(ActivityKind::driver),
              took.count());
}

int main(int argc, char** argv) {
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  median_ns_of_a_launch(stream);
  if (argc < 2 || !gpu::open_cupti(argv[1])) return 77;
  cupti.register_callbacks(request_buffer, complete);
  std::setvbuf(stdout, nullptr, _IOLBF, 0);  // where a stage hangs, the last line says which
  for (int i = 2; i < argc; ++i) measure(argv[i], stream);
  return 0;
}
