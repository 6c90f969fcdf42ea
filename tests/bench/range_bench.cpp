// What an NVTX range costs while nothing is recorded, for each kind of `step.mark`: beside it
// ("empty tool") that of a tool whose functions do nothing. Each mark in a traced process of its
// own, whose cases are interleaved; see hook_bench.cpp.
#include <benchmark/benchmark.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/bench/empty_nvtx_tool.hpp"
#include "tests/bench/traced_process.hpp"

extern "C" void __cudaRegisterFunction(void**, const char*, char*, const char*, int, uint3*, uint3*,
                                       dim3*, dim3*, int*);

namespace traceagent::bench {
namespace {

// What the agent is told, and whether it then follows the steps by their launches.
struct Mark {
  const char* name;
  const char* step_mark;
  bool is_by_launches;
};
constexpr Mark marks[] = {
    {"every:", "every:1h", false},
    {"call:", "call:cudaMalloc:1000000", false},
    {"nvtx:, of another name", "nvtx:other", false},
    {"auto, while it searches", "auto", false},
    {"auto, which has found launches", "auto", true},
};

constexpr char stubs[40] = {};
nvtxDomainHandle_t domain = nullptr;
nvtxEventAttributes_t attributes{};

void range_empty() {
  call_empty_tool<&emptyRangePush>("forward");
  call_empty_tool<&emptyRangePop>();
}
void range_hooked() {
  nvtxRangePushA("forward");
  nvtxRangePop();
}
void registered_empty() {
  call_empty_tool<&emptyDomainRangePush>(domain,
                                         static_cast<const nvtxEventAttributes_t*>(&attributes));
  call_empty_tool<&emptyDomainRangePop>(domain);
}
void registered_hooked() {
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);
}

template <void (*call)()>
void repeat(benchmark::State& state) {
  const std::uint64_t dropped_before = dropped();
  for (auto _ : state) call();
  if (dropped() != dropped_before) state.SkipWithError("recorded, and not idle");
}

double minimum(const std::vector<double>& values) {
  return *std::min_element(values.begin(), values.end());
}

void add(const char* name, void (*run)(benchmark::State&)) {
  benchmark::RegisterBenchmark(name, run)
      ->Iterations(4'000'000)
      ->Repetitions(31)
      ->ComputeStatistics("min", minimum)
      ->ReportAggregatesOnly();
}

void register_stubs() {
  char name[] = "a_kernel";
  for (const char& stub : stubs) {
    __cudaRegisterFunction(nullptr, &stub, name, name, -1, nullptr, nullptr, nullptr, nullptr,
                           nullptr);
  }
}

// Steps that `auto` finds.
bool make_steps() {
  constexpr int steps_to_learn = 200;
  for (int step = 0; step < steps_to_learn; ++step) {
    cudaMemcpy(nullptr, nullptr, 1024, cudaMemcpyHostToDevice);
    for (const char& stub : stubs) cudaLaunchKernel(&stub, {64}, {256}, nullptr, 0, nullptr);
  }
  // The agent's own thread counts the last of them.
  for (int look = 0; look < 100 && steps_begun() < steps_to_learn; ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return steps_begun() == steps_to_learn;
}

// A program that has no step yet is recorded from its start, into half the ring.
void end_startup() {
  constexpr int ranges = 600'000;
  cudaMalloc(nullptr, 0);  // for `call:`
  for (int i = 0; i < ranges; ++i) range_hooked();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
}

int run_marked(std::vector<char*> arguments) {
  int count = static_cast<int>(arguments.size());
  arguments.push_back(nullptr);
  benchmark::Initialize(&count, arguments.data());
  register_stubs();
  if (std::getenv("BENCH_BY_LAUNCHES") != nullptr && !make_steps()) {
    std::fprintf(stderr, "range_bench: the agent does not follow the launches\n");
    return 1;
  }
  end_startup();
  domain = nvtxDomainCreateA("a library");
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "forward");
  add("empty tool/push, pop", repeat<range_empty>);
  add("idle/push, pop", repeat<range_hooked>);
  add("empty tool/registered name in a domain", repeat<registered_empty>);
  add("idle/registered name in a domain", repeat<registered_hooked>);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

int run(char** arguments, const Mark& mark) {
  std::printf("step.mark: %s\n", mark.name);
  std::fflush(stdout);
  Variables variables = {{"BENCH_MARK", mark.name},
                         {"TRACEAGENT_STEP_MARK", mark.step_mark},
                         {"TRACEAGENT_SCHEDULE", "wait=100000000,warmup=1,active=1,repeat=1"}};
  if (mark.is_by_launches) variables.emplace_back("BENCH_BY_LAUNCHES", "1");
  return run_traced(arguments, variables);
}

}  // namespace
}  // namespace traceagent::bench

int main(int argc, char** argv) {
  if (std::getenv("BENCH_MARK") == nullptr) {
    for (const auto& mark : traceagent::bench::marks) {
      if (const int result = traceagent::bench::run(argv, mark); result != 0) return result;
    }
    return 0;
  }
  std::vector<char*> arguments(argv, argv + argc);
  char interleaved[] = "--benchmark_enable_random_interleaving=true";
  arguments.insert(arguments.begin() + 1, interleaved);
  return traceagent::bench::run_marked(std::move(arguments));
}
