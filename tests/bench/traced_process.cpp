#include "tests/bench/traced_process.hpp"

#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "agent/ring/ring_file.hpp"

namespace traceagent::bench {
namespace {

namespace fs = std::filesystem;
constexpr const char* scratch_variable = "BENCH_SCRATCH";
constexpr const char* step_name = "bench_step";

void set(const char* variable, const std::string& value) { setenv(variable, value.c_str(), 1); }

void choose_options(const fs::path& scratch, const Variables& variables) {
  set(scratch_variable, scratch);
  set("LD_PRELOAD", fs::read_symlink("/proc/self/exe").parent_path() / "../lib/libtraceagent.so");
  set("TRACEAGENT_STEP_MARK", std::string("nvtx:") + step_name);
  set("TRACEAGENT_SCHEDULE", "wait=1,warmup=1,active=1,repeat=0");
  set("TRACEAGENT_RING_FOLDER", scratch);
  set("TRACEAGENT_OUTPUT_FOLDER", scratch / "traces");
  set("TRACEAGENT_OUTPUT_OVERWRITE", "true");
  set("TRACEAGENT_MERGE_MODE", "off");
  set("TRACEAGENT_QUIET", "true");
  set("TRACEAGENT_BUDGET_OVERHEAD", "0");  // what is measured here must not be left out
  set("TRACEAGENT_DOORS_CUPTI", "false");  // the libraries do nothing: no work, no times of it
  for (const auto& [name, value] : variables) set(name, value);
}

fs::path own_ring() {
  for (const auto& entry : fs::recursive_directory_iterator(std::getenv(scratch_variable))) {
    if (entry.path().extension() == ".ring") return entry.path();
  }
  return {};
}

}  // namespace

int run_traced(char** arguments, const Variables& variables) {
  if (std::getenv(scratch_variable) != nullptr) return -1;
  const fs::path scratch = "/dev/shm/traceagent-bench-" + std::to_string(getpid());
  fs::create_directory(scratch);
  const pid_t child = fork();
  if (child == 0) {
    choose_options(scratch, variables);
    execv("/proc/self/exe", arguments);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  fs::remove_all(scratch);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

void begin(Step step) {
  static unsigned steps_begun = 0;
  do {
    if (steps_begun > 0) nvtxRangePop();
    nvtxRangePushA(step_name);
  } while (steps_begun++ % 3 != static_cast<unsigned>(step));
}

void enter(Step step) {
  begin(step);
  // The drain keeps 100 ms of records and looks every 20 to 100 ms.
  const bool records = step != Step::idle;
  std::this_thread::sleep_for(std::chrono::milliseconds(records ? 300 : 20));
}

std::uint64_t steps_begun() {
  ring::OpenedRing opened = ring::open_ring(own_ring());
  if (!opened.ring.valid()) return 0;
  const std::uint64_t steps = opened.ring.header().step_count.load();
  ring::close_ring(opened);
  return steps;
}

void wait_for_room(std::uint64_t records) {
  ring::OpenedRing opened = ring::open_ring(own_ring());
  if (!opened.ring.valid()) return;
  constexpr int most_looks = 2000;
  const std::uint64_t chunks = records / ring::records_per_chunk + 1;
  for (int i = 0; i < most_looks && opened.ring.header().free_chunks.load() < chunks; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  ring::close_ring(opened);
}

std::uint64_t dropped() {
  ring::OpenedRing opened = ring::open_ring(own_ring());
  if (!opened.ring.valid()) return UINT64_MAX;
  std::uint64_t sum = 0;
  for (const auto& count : opened.ring.header().dropped) sum += count.load();
  ring::close_ring(opened);
  return sum;
}

}  // namespace traceagent::bench
