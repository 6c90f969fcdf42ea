#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <chrono>
#include <thread>

#include "tests/programs/kernel.hpp"
#include "tests/sim/cudart/functions.hpp"
#include "tests/sim/mark.hpp"
#include "tests/unit/sim/truth_records.hpp"

namespace traceagent::sim_test {
namespace {

using simgpu::Record;
using simgpu::RecordKind;
using simgpu::RecordState;
using Number = simgpu::cudart::Number;

const programs::Kernel kernel("truth_kernel");

// In a child, so that the truth file is this test's alone.
template <class Body>
int in_child(const std::filesystem::path& truth, Body body) {
  const pid_t child = fork();
  if (child == 0) {
    setenv("SIMGPU_TRUTH", truth.c_str(), 1);
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

auto calls_of(std::uint16_t function) {
  return [=](const Record& r) { return r.kind == RecordKind::call && r.function == function; };
}

TEST(Truth, HoldsEveryCallOnce) {
  const auto path = scratch() / "every.truth";
  constexpr int threads = 4;
  constexpr int launches = 5000;  // more than the file grows by at once
  ASSERT_EQ(in_child(path,
                     [] {
                       std::vector<std::thread> pool;
                       for (int t = 0; t < threads; ++t) {
                         pool.emplace_back([] {
                           cudaStream_t stream = nullptr;
                           cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
                           for (int i = 0; i < launches; ++i) {
                             kernel.launch(stream);
                           }
                         });
                       }
                       for (auto& thread : pool) {
                         thread.join();
                       }
                       simgpu_mark("step", 7);
                     }),
            0);
  const TruthRecords truth(path);
  ASSERT_TRUE(truth.readable());
  EXPECT_EQ(truth.select(calls_of(Number::cudaLaunchKernel)).size(), threads * launches);
  EXPECT_EQ(truth.select(calls_of(Number::cudaStreamCreateWithFlags)).size(), threads);
  const auto device = truth.select([](const Record& r) {
    return r.kind == RecordKind::device && r.end_ns - r.begin_ns == 10'000;
  });
  EXPECT_EQ(device.size(), threads * launches);
  const auto marks = truth.select([](const Record& r) { return r.kind == RecordKind::mark; });
  ASSERT_EQ(marks.size(), 1U);
  EXPECT_EQ(marks[0]->count, 7U);
  const auto unfinished =
      truth.select([](const Record& r) { return r.state.load() != RecordState::closed; });
  EXPECT_TRUE(unfinished.empty());
}

TEST(Truth, KeepsArgumentsAndResults) {
  const auto path = scratch() / "arguments.truth";
  ASSERT_EQ(in_child(path,
                     [] {
                       void* memory = nullptr;
                       cudaMalloc(&memory, 12345);
                       cudaMemset(memory, 0, 345);
                       cudaMalloc(&memory, std::size_t{1} << 50);
                       kernel.launch(nullptr, 3, 64);
                     }),
            0);
  const TruthRecords truth(path);
  const auto mallocs = truth.select(calls_of(Number::cudaMalloc));
  ASSERT_EQ(mallocs.size(), 2U);
  EXPECT_EQ(mallocs[0]->bytes, 12345U);
  EXPECT_EQ(mallocs[0]->result, 0);
  EXPECT_NE(mallocs[0]->address, 0U);
  EXPECT_EQ(mallocs[1]->result, cudaErrorMemoryAllocation);
  EXPECT_LE(mallocs[0]->begin_ns, mallocs[0]->end_ns);
  EXPECT_LE(mallocs[0]->end_ns, mallocs[1]->begin_ns);
  const auto launches = truth.select(calls_of(Number::cudaLaunchKernel));
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0]->grid[0], 3U);
  EXPECT_EQ(launches[0]->block[0], 64U);
  const auto device = truth.select([](const Record& r) {
    return r.kind == RecordKind::device && r.work == simgpu::WorkKind::kernel;
  });
  ASSERT_EQ(device.size(), 1U);
  EXPECT_EQ(device[0]->number, launches[0]->number);
  EXPECT_GE(device[0]->begin_ns, launches[0]->begin_ns);
}

TEST(Truth, SurvivesAKill) {
  const auto path = scratch() / "killed.truth";
  const int status = in_child(path, [] {
    cudaStream_t stream = nullptr;
    cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
    for (int i = 0; i < 100; ++i) {
      kernel.launch(stream);
    }
    kill(getpid(), SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(TruthRecords(path).select(calls_of(Number::cudaLaunchKernel)).size(), 100U);
}

TEST(Truth, IsNotWrittenWithoutACall) {
  const auto path = scratch() / "none.truth";
  ASSERT_EQ(in_child(path, [] { const programs::Kernel registered_only("registered_only"); }), 0);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Truth, ForkedChildIsRefusedAndWritesItsOwn) {
  const auto path = scratch() / "fork-{pid}.truth";
  int grandchild_result = -1;
  const auto result_file = scratch() / "grandchild";
  ASSERT_EQ(in_child(path,
                     [&] {
                       void* memory = nullptr;
                       cudaMalloc(&memory, 10);
                       const pid_t grandchild = fork();
                       if (grandchild == 0) {
                         std::ofstream(result_file) << static_cast<int>(cudaMalloc(&memory, 10));
                         _exit(0);
                       }
                       waitpid(grandchild, nullptr, 0);
                     }),
            0);
  std::ifstream(result_file) >> grandchild_result;
  EXPECT_EQ(grandchild_result, cudaErrorInitializationError);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(scratch())) {
    if (entry.path().filename().string().rfind("fork-", 0) == 0) {
      ++files;
      EXPECT_EQ(TruthRecords(entry.path()).select(calls_of(Number::cudaMalloc)).size(), 1U);
    }
  }
  EXPECT_EQ(files, 2);
}

}  // namespace
}  // namespace traceagent::sim_test
