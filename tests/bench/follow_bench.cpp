// What a hook costs while `step.mark: auto` follows the job's steps, of 40 or of 1,000 launches or
// collectives, in the waiting and in the recording state. Each in a traced process of its own,
// whose cases are interleaved; see hook_bench.cpp for "plain" and "forwarded".
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/bench/traced_process.hpp"

extern "C" {
cudaError_t plainLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t forwardedLaunchKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
ncclResult_t plainAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                            cudaStream_t);
ncclResult_t forwardedAllReduce(const void*, void*, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                                cudaStream_t);
void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*, dim3*,
                            dim3*, int*);
}

namespace traceagent::bench {
namespace {

constexpr int most_calls_per_step = 1000;
// Well within the ring's million records.
constexpr int recorded_calls = 400'000;
constexpr int steps_to_learn = 200;
constexpr char stubs[most_calls_per_step] = {};
int calls_per_step = most_calls_per_step;
const ncclComm_t comm = reinterpret_cast<ncclComm_t>(0x1000);

// Each way of calling is at a place of its own in the step: what is interleaved does not disturb
// what the agent follows.
template <auto call>
void next() {
  static int place = 0;
  call(place);
  place = place + 1 == calls_per_step ? 0 : place + 1;
}

// Named, because there is more than one cudaLaunchKernel.
using Launch = cudaError_t (*)(const void*, dim3, dim3, void**, size_t, cudaStream_t);

template <Launch function>
void launch(int place) {
  benchmark::DoNotOptimize(function(&stubs[place], {64}, {256}, nullptr, 0, nullptr));
}

template <auto function>
void all_reduce(int place) {
  const auto count = static_cast<std::size_t>(4096 + place);
  benchmark::DoNotOptimize(function(nullptr, nullptr, count, ncclFloat, ncclSum, comm, nullptr));
}

template <void (*call)()>
void repeat(benchmark::State& state) {
  // Repetitions that follow each other at once would be over before the drain has its turn.
  wait_for_room(recorded_calls);
  const std::uint64_t dropped_before = dropped();
  const std::uint64_t steps_before = steps_begun();
  for (auto _ : state) call();
  if (dropped() != dropped_before) state.SkipWithError("the ring was full: nothing was measured");
  state.counters["steps"] = static_cast<double>(steps_begun() - steps_before);
}

double minimum(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

void add(const std::string& name, void (*run)(benchmark::State&), int calls) {
  benchmark::RegisterBenchmark(name.c_str(), run)
      ->Iterations(calls)
      ->Repetitions(31)
      ->ComputeStatistics("min", minimum)
      ->ReportAggregatesOnly();
}

template <auto plain, auto forwarded, auto followed>
bool add_all(const std::string& what, const std::string& state) {
  for (int step = 0; step < steps_to_learn; ++step) {
    cudaMemcpy(nullptr, nullptr, 1024, cudaMemcpyHostToDevice);
    for (int i = 0; i < calls_per_step; ++i) next<followed>();
  }
  // Those that nobody looks at are counted by the agent's thread.
  for (int i = 0; i < 100 && steps_begun() != steps_to_learn; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  if (steps_begun() != steps_to_learn) return false;
  const int calls = state == "recording" ? recorded_calls : 4'000'000;
  add("plain/" + what, repeat<next<plain>>, calls);
  add("forwarded/" + what, repeat<next<forwarded>>, calls);
  add("followed, " + state + "/" + what, repeat<next<followed>>, calls);
  return true;
}

bool add_cases(const std::string& what, const std::string& state) {
  if (what == "launch") {
    return add_all<launch<plainLaunchKernel>, launch<forwardedLaunchKernel>,
                   launch<cudaLaunchKernel>>(what, state);
  }
  return add_all<all_reduce<plainAllReduce>, all_reduce<forwardedAllReduce>,
                 all_reduce<ncclAllReduce>>(what, state);
}

int run(char** arguments, const char* what, const char* calls, const char* state) {
  const bool waits = state == std::string_view("waiting");
  std::printf("%s, %s calls a step\n", what, calls);
  std::fflush(stdout);
  return run_traced(arguments,
                    {{"BENCH_WHAT", what},
                     {"BENCH_CALLS", calls},
                     {"BENCH_STATE", state},
                     {"TRACEAGENT_STEP_MARK", "auto"},
                     {"TRACEAGENT_SCHEDULE", waits ? "wait=100000000,warmup=1,active=1,repeat=1"
                                                   : "wait=0,warmup=100000000,active=1,repeat=1"}});
}

int run_all(char** arguments) {
  for (const char* what : {"launch", "all_reduce"}) {
    for (const char* calls : {"40", "1000"}) {
      for (const char* state : {"waiting", "recording"}) {
        if (const int result = run(arguments, what, calls, state); result != 0) return result;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace traceagent::bench

int main(int argc, char** argv) {
  const char* what = std::getenv("BENCH_WHAT");
  if (what == nullptr) return traceagent::bench::run_all(argv);
  traceagent::bench::calls_per_step = std::atoi(std::getenv("BENCH_CALLS"));
  std::vector<char*> arguments(argv, argv + argc);
  char interleaved[] = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, interleaved);
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  char name[] = "a_kernel";
  for (const char& stub : traceagent::bench::stubs) {
    __cudaRegisterFunction(nullptr, &stub, name, name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  }
  if (!traceagent::bench::add_cases(what, std::getenv("BENCH_STATE"))) {
    std::fprintf(stderr, "follow_bench: the agent does not follow the steps of %s\n", what);
    return 1;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
