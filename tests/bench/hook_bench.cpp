// What a hook costs the job: a call through the PLT, the wrapper, a function that does nothing.
// "plain" has no wrapper, "forwarded" one that does nothing (do_nothing/interposer.cpp); of NVTX it
// is a tool that does nothing.
// "by dlsym": a program that looks its functions up, as ctypes and CuPy do. The same with 2 and 16
// threads. All cases run in one traced process, interleaved, so that they meet the same machine.
#include <benchmark/benchmark.h>
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <nccl.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <vector>

#include "agent/event/record.hpp"
#include "agent/event/ticks.hpp"
#include "tests/bench/empty_nvtx_tool.hpp"
#include "tests/bench/traced_process.hpp"

extern "C" {
CUresult plainDriverLaunch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                           unsigned, CUstream, void**, void**);
cudaError_t plainMalloc(void**, size_t);
cudaError_t plainLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
ncclResult_t plainAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                            cudaStream_t);
cudaError_t forwardedMalloc(void**, size_t);
cudaError_t forwardedLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
CUresult forwardedDriverLaunch(CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, unsigned, CUstream, void**, void**);
ncclResult_t forwardedAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                cudaStream_t);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
}

namespace traceagent::bench {
namespace {

constexpr int kernel_stub = 0;
const CUfunction kernel = reinterpret_cast<CUfunction>(0x2000);
const ncclComm_t comm = reinterpret_cast<ncclComm_t>(0x1000);

void malloc_plain() {
  void* pointer = nullptr;
  benchmark::DoNotOptimize(plainMalloc(&pointer, 1024));
}
void malloc_forwarded() {
  void* pointer = nullptr;
  benchmark::DoNotOptimize(forwardedMalloc(&pointer, 1024));
}
void malloc_hooked() {
  void* pointer = nullptr;
  benchmark::DoNotOptimize(cudaMalloc(&pointer, 1024));
}
void launch_plain() {
  benchmark::DoNotOptimize(plainLaunchKernel(&kernel_stub, {64}, {256}, nullptr, 0, nullptr));
}
void launch_forwarded() {
  benchmark::DoNotOptimize(forwardedLaunchKernel(&kernel_stub, {64}, {256}, nullptr, 0, nullptr));
}
void launch_hooked() {
  benchmark::DoNotOptimize(cudaLaunchKernel(&kernel_stub, {64}, {256}, nullptr, 0, nullptr));
}
// As found by name, once; none where that fails, so that the process ends at the first call.
using Launch = cudaError_t (*)(const void*, dim3, dim3, void**, size_t, cudaStream_t);
Launch found(const char* library, const char* name) {
  return reinterpret_cast<Launch>(dlsym(dlopen(library, RTLD_LAZY), name));
}
void found_launch_plain() {
  static const Launch launch = found("libcudart.so.13", "plainLaunchKernel");
  benchmark::DoNotOptimize(launch(&kernel_stub, {64}, {256}, nullptr, 0, nullptr));
}
void found_launch_forwarded() {
  static const Launch launch = found("libdo_nothing.so", "forwardedLaunchKernel");
  benchmark::DoNotOptimize(launch(&kernel_stub, {64}, {256}, nullptr, 0, nullptr));
}
void found_launch_hooked() {
  static const Launch launch = found("libcudart.so.13", "cudaLaunchKernel");
  benchmark::DoNotOptimize(launch(&kernel_stub, {64}, {256}, nullptr, 0, nullptr));
}
void driver_launch_plain() {
  benchmark::DoNotOptimize(
      plainDriverLaunch(kernel, 64, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr));
}
void driver_launch_forwarded() {
  benchmark::DoNotOptimize(
      forwardedDriverLaunch(kernel, 64, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr));
}
void driver_launch_hooked() {
  benchmark::DoNotOptimize(
      cuLaunchKernel(kernel, 64, 1, 1, 256, 1, 1, 0, nullptr, nullptr, nullptr));
}
void all_reduce_plain() {
  benchmark::DoNotOptimize(
      plainAllReduce(nullptr, nullptr, 4096, ncclFloat, ncclSum, comm, nullptr));
}
void all_reduce_forwarded() {
  benchmark::DoNotOptimize(
      forwardedAllReduce(nullptr, nullptr, 4096, ncclFloat, ncclSum, comm, nullptr));
}
void all_reduce_hooked() {
  benchmark::DoNotOptimize(
      ncclAllReduce(nullptr, nullptr, 4096, ncclFloat, ncclSum, comm, nullptr));
}
void nvtx_range_empty() {
  call_empty_tool<&emptyRangePush>("forward");
  call_empty_tool<&emptyRangePop>();
}
void nvtx_range() {
  nvtxRangePushA("forward");
  nvtxRangePop();
}

constexpr std::size_t floor_records = std::size_t{1} << 20;

// The ring's size, and mapped as the ring is.
event::Record* map_floor() {
  void* memory = mmap(nullptr, floor_records * sizeof(event::Record), PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  return static_cast<event::Record*>(memory);
}

// The least that any recording can cost: both ticks and the record. Each thread begins elsewhere.
class Floor {
 public:
  void record() noexcept {
    event::Record& record = records_[next_++ % floor_records];
    const std::uint64_t begin = event::read_ticks();
    record.function = 1;
    record.layout = event::Layout::launch;
    record.flags = 0;
    record.result = 0;
    record.detail = 0;
    record.extra = 0;
    std::fill(std::begin(record.args), std::end(record.args), begin);
    record.begin_ticks.store(begin, std::memory_order_release);
    record.end_ticks.store(event::read_ticks(), std::memory_order_release);
  }

 private:
  static inline event::Record* const records_ = map_floor();
  static inline std::atomic<std::size_t> threads_{0};
  std::size_t next_ = threads_++ * (floor_records / 16);
};

void floor_record() {
  static thread_local Floor floor;
  floor.record();
}

template <void (*call)()>
void repeat(benchmark::State& state) {
  call();  // what happens only once is not the hook's cost
  for (auto _ : state) call();
}

template <void (*call)()>
void repeat_recording(benchmark::State& state) {
  const std::uint64_t dropped_before = dropped();
  repeat<call>(state);
  if (dropped() != dropped_before) state.SkipWithError("the ring was full: nothing was measured");
}

constexpr int plain_calls = 4'000'000;
// Well within the ring's million records, so that the drain, which frees later, is never waited
// for.
constexpr int recorded_calls = 400'000;

void enter_idle(const benchmark::State&) { enter(Step::idle); }
void enter_recording(const benchmark::State&) { enter(Step::recording_for_nothing); }

double minimum(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

void add(const char* name, void (*run)(benchmark::State&), void (*set_up)(const benchmark::State&),
         int calls, int threads = 1) {
  benchmark::RegisterBenchmark(name, run)
      ->Setup(set_up)
      ->Threads(threads)
      ->Iterations(calls / threads)
      ->Repetitions(31)
      ->ComputeStatistics("min", minimum)
      ->ReportAggregatesOnly();
}

void add_all() {
  add("plain/malloc", repeat<malloc_plain>, enter_idle, plain_calls);
  add("plain/launch", repeat<launch_plain>, enter_idle, plain_calls);
  add("plain/driver_launch", repeat<driver_launch_plain>, enter_idle, plain_calls);
  add("plain/all_reduce", repeat<all_reduce_plain>, enter_idle, plain_calls);
  add("forwarded/malloc", repeat<malloc_forwarded>, enter_idle, plain_calls);
  add("forwarded/launch", repeat<launch_forwarded>, enter_idle, plain_calls);
  add("forwarded/driver_launch", repeat<driver_launch_forwarded>, enter_idle, plain_calls);
  add("forwarded/all_reduce", repeat<all_reduce_forwarded>, enter_idle, plain_calls);
  add("forwarded/nvtx_push_pop", repeat<nvtx_range_empty>, enter_idle, plain_calls);
  add("idle/malloc", repeat<malloc_hooked>, enter_idle, plain_calls);
  add("idle/launch", repeat<launch_hooked>, enter_idle, plain_calls);
  add("idle/driver_launch", repeat<driver_launch_hooked>, enter_idle, plain_calls);
  add("idle/all_reduce", repeat<all_reduce_hooked>, enter_idle, plain_calls);
  add("idle/nvtx_push_pop", repeat<nvtx_range>, enter_idle, plain_calls);
  add("active/floor", repeat<floor_record>, enter_recording, recorded_calls);
  add("active/malloc", repeat_recording<malloc_hooked>, enter_recording, recorded_calls);
  add("active/launch", repeat_recording<launch_hooked>, enter_recording, recorded_calls);
  add("active/driver_launch", repeat_recording<driver_launch_hooked>, enter_recording,
      recorded_calls);
  add("active/all_reduce", repeat_recording<all_reduce_hooked>, enter_recording, recorded_calls);
  add("active/nvtx_push_pop", repeat_recording<nvtx_range>, enter_recording, recorded_calls);
}

void add_looked_up() {
  add("plain/launch by dlsym", repeat<found_launch_plain>, enter_idle, plain_calls);
  add("forwarded/launch by dlsym", repeat<found_launch_forwarded>, enter_idle, plain_calls);
  add("idle/launch by dlsym", repeat<found_launch_hooked>, enter_idle, plain_calls);
  add("active/launch by dlsym", repeat_recording<found_launch_hooked>, enter_recording,
      recorded_calls);
}

void add_threads(int threads) {
  add("plain/launch", repeat<launch_plain>, enter_idle, plain_calls, threads);
  add("forwarded/launch", repeat<launch_forwarded>, enter_idle, plain_calls, threads);
  add("idle/launch", repeat<launch_hooked>, enter_idle, plain_calls, threads);
  add("active/floor", repeat<floor_record>, enter_recording, recorded_calls, threads);
  add("active/launch", repeat_recording<launch_hooked>, enter_recording, recorded_calls, threads);
}

}  // namespace
}  // namespace traceagent::bench

int main(int argc, char** argv) {
  const int result = traceagent::bench::run_traced(argv);
  if (result >= 0) return result;
  std::vector<char*> arguments(argv, argv + argc);
  char interleaved[] = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, interleaved);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  char name[] = "a_kernel";
  __cudaRegisterFunction(nullptr, reinterpret_cast<const char*>(&traceagent::bench::kernel_stub),
                         name, name, -1, nullptr, nullptr, nullptr, nullptr, nullptr);
  traceagent::bench::add_all();
  traceagent::bench::add_looked_up();
  for (const int threads : {2, 16}) traceagent::bench::add_threads(threads);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
