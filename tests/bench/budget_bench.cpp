// What a budget is worth to a job that launches ten million tiny kernels a second and does nothing
// else: the same number of launches bare, traced within the budget, and traced without one.
//
//   budget_bench [SECONDS of each run, 30] [ROUNDS, 3]
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

constexpr double launches_per_s = 10e6;
constexpr int kernel_stub = 0;
volatile unsigned long sink = 0;

double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The job's own work between two launches: a chain of multiplications that nothing can shorten.
[[gnu::noinline]] unsigned long work(unsigned long value, int rounds) {
  for (int i = 0; i < rounds; ++i) value = value * 6364136223846793005UL + 1442695040888963407UL;
  return value;
}

void launch_often(unsigned long launches, int rounds) {
  unsigned long value = 1;
  for (unsigned long i = 0; i < launches; ++i) {
    value = work(value, rounds);
    cudaLaunchKernel(&kernel_stub, {1}, {32}, nullptr, 0, nullptr);
  }
  sink = value;
}

// So many rounds that a launch and its work take a tenth of a microsecond, bare.
int choose_rounds() {
  constexpr unsigned long tries = 2'000'000;
  int rounds = 10;
  for (int attempt = 0; attempt < 4; ++attempt) {
    const double begin = cpu_s();
    launch_often(tries, rounds);
    const double rate = static_cast<double>(tries) / (cpu_s() - begin);
    rounds = std::max(1, static_cast<int>(rounds * rate / launches_per_s + 0.5));
  }
  return rounds;
}

// CPU time of the launching thread, in seconds: another process on the CPU is no cost of ours.
int run_child(unsigned long launches, int rounds) {
  const double begin = cpu_s();
  launch_often(launches, rounds);
  std::printf("%.6f\n", cpu_s() - begin);
  return 0;
}

struct Kind {
  const char* name;
  const char* budget;  // null: not traced
  const char* mark;
  std::vector<double> seconds;
};

double run(const Kind& kind, unsigned long launches, int rounds, const fs::path& scratch) {
  const std::string self = fs::read_symlink("/proc/self/exe");
  std::string command = "cd " + scratch.string() + " && ";
  if (kind.budget != nullptr) {
    command += "LD_PRELOAD=" + (fs::path(self).parent_path() / "../lib/libtraceagent.so").string() +
               " TRACEAGENT_RING_FOLDER=" + scratch.string() +
               " TRACEAGENT_BUDGET_OVERHEAD=" + kind.budget +
               " TRACEAGENT_OUTPUT_OVERWRITE=true TRACEAGENT_DOORS_CUPTI=false"
               " TRACEAGENT_RUN_NAME=bench TRACEAGENT_SCHEDULE=wait=0,warmup=0,active=1,repeat=0"
               " TRACEAGENT_STEP_MARK=" +
               kind.mark + " TRACEAGENT_MERGE_MODE=off TRACEAGENT_QUIET=true ";
  }
  command += self + " --run " + std::to_string(launches) + " " + std::to_string(rounds);
  FILE* output = popen(command.c_str(), "r");
  double seconds = 0;
  if (output == nullptr || std::fscanf(output, "%lf", &seconds) != 1) std::abort();
  pclose(output);
  fs::remove_all(scratch / "bench");
  return seconds;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 4 && std::string(argv[1]) == "--run") {
    return run_child(std::strtoul(argv[2], nullptr, 10), std::atoi(argv[3]));
  }
  const double seconds = argc > 1 ? std::atof(argv[1]) : 30;
  const int repetitions = argc > 2 ? std::atoi(argv[2]) : 3;
  const auto launches = static_cast<unsigned long>(seconds * launches_per_s);
  const int rounds = choose_rounds();
  const fs::path scratch = "/dev/shm/traceagent-budget-" + std::to_string(getpid());
  fs::create_directory(scratch);
  // Not `auto` without a budget: each few launches are a step and a file then, for many minutes.
  std::array<Kind, 5> kinds = {{{"bare", nullptr, "", {}},
                                {"slices of time, 1%", "1%", "every:1s", {}},
                                {"slices of time, no budget", "0", "every:1s", {}},
                                {"auto, 1%", "1%", "auto", {}},
                                {"auto, 0.2%", "0.2%", "auto", {}}}};
  for (int i = 0; i < repetitions; ++i) {
    for (Kind& kind : kinds) {
      kind.seconds.push_back(run(kind, launches, rounds, scratch));
      std::fprintf(stderr, "round %d: %s: %.3f s\n", i + 1, kind.name, kind.seconds.back());
    }
  }
  fs::remove_all(scratch);
  const auto median = [](std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  const double bare = median(kinds[0].seconds);
  for (const Kind& kind : kinds) {
    const double time = median(kind.seconds);
    std::printf("%-26s %8.3f s  %7.2f ns a launch  %+6.2f %%\n", kind.name, time,
                time / static_cast<double>(launches) * 1e9, (time / bare - 1) * 100);
  }
  return 0;
}
