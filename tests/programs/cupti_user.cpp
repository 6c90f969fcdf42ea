// A job that takes CUPTI into use itself, as torch.profiler does, for some of its steps; and that
// launches NCCL operations alone, in groups, on two streams, while another thread captures graphs.
//
//   --own          two spells of steps in the middle are profiled by the program itself
//   --dlsym        ... with CUPTI's functions looked up by dlsym, not linked
//   --once         ... buffer callbacks registered once in two profiled spells, as PyTorch does
//   --own-clock    ... whose times are of a clock of its own, registered for good, as PyTorch does
//   --capture      another thread captures graphs all the while
//
// What its own profiler was told goes to stdout of rank 0, one line a kernel: "own" name start end
// correlation.
#include <cupti.h>
#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tests/programs/job.hpp"
#include "tests/programs/kernel.hpp"
#include "tests/sim/mark.hpp"
#include "tools/demo_program/check.hpp"

namespace traceagent::programs {
namespace {

const Kernel forward("forward_kernel");
const Kernel captured("captured_kernel");

void check(CUptiResult result, const char* what) {
  if (result != CUPTI_SUCCESS) {
    throw std::runtime_error(std::string(what) + ": error " + std::to_string(result));
  }
}

// The functions of CUPTI that it calls: linked, or found by dlsym.
struct Cupti {
  decltype(&cuptiSubscribe) subscribe = cuptiSubscribe;
  decltype(&cuptiUnsubscribe) unsubscribe = cuptiUnsubscribe;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = cuptiActivityRegisterCallbacks;
  decltype(&cuptiActivityEnable) enable = cuptiActivityEnable;
  decltype(&cuptiActivityDisable) disable = cuptiActivityDisable;
  decltype(&cuptiActivityRegisterTimestampCallback) register_timestamp =
      cuptiActivityRegisterTimestampCallback;

  void look_up() {
    void* library = dlopen("libcupti.so.13", RTLD_NOW | RTLD_LOCAL);
    find(library, "cuptiSubscribe", subscribe);
    find(library, "cuptiUnsubscribe", unsubscribe);
    find(library, "cuptiActivityRegisterCallbacks", register_callbacks);
    find(library, "cuptiActivityEnable", enable);
    find(library, "cuptiActivityDisable", disable);
    find(library, "cuptiActivityRegisterTimestampCallback", register_timestamp);
  }

 private:
  template <class Function>
  static void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    if (function == nullptr) {
      throw std::runtime_error(name);
    }
  }
};

class OwnProfiler {
 public:
  OwnProfiler(bool looks_up, bool registers_once, bool has_clock)
      : registers_once_(registers_once), has_clock_(has_clock) {
    if (looks_up) {
      cupti_.look_up();
    }
  }

  void start() {
    CHECK(cudaDeviceSynchronize());
    if (has_clock_ && !registered_) {
      check(cupti_.register_timestamp(clock), "cuptiActivityRegisterTimestampCallback");
    }
    check(cupti_.subscribe(&subscriber_, on_callback, nullptr), "cuptiSubscribe");
    if (!registered_ || !registers_once_) {
      check(cupti_.register_callbacks(on_request, on_complete), "cuptiActivityRegisterCallbacks");
    }
    registered_ = true;
    check(cupti_.enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
    simgpu_mark("profiled_from", ++spells_);
  }

  void stop() {
    CHECK(cudaDeviceSynchronize());
    simgpu_mark("profiled_to", spells_);
    check(cupti_.disable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityDisable");
    check(cuptiActivityFlushAll(1), "cuptiActivityFlushAll");
    check(cupti_.unsubscribe(subscriber_), "cuptiUnsubscribe");
  }

  static void print() {
    for (const std::string& line : lines()) {
      std::puts(line.c_str());
    }
  }

 private:
  static constexpr std::size_t buffer_bytes = 64 * 1024;

  static std::vector<std::string>& lines() {
    static std::vector<std::string> all;
    return all;
  }
  // Counts from the machine's start, not from 1970.
  static std::uint64_t clock() {
    return static_cast<std::uint64_t>(
        std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
  static void on_callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}
  static void on_request(std::uint8_t** buffer, std::size_t* bytes, std::size_t* records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
    *bytes = buffer_bytes;
    *records = 0;
  }
  static void on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                          std::size_t valid_bytes) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    CUpti_Activity* record = nullptr;
    while (cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == CUPTI_SUCCESS) {
      if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        lines().push_back("own other " + std::to_string(record->kind));
        continue;
      }
      // Name, times and correlation lie alike in all versions since the fourth.
      const auto& kernel = *reinterpret_cast<const CUpti_ActivityKernel4*>(record);
      lines().push_back("own kernel " + std::string(kernel.name) + " " +
                        std::to_string(kernel.start) + " " + std::to_string(kernel.end) + " " +
                        std::to_string(kernel.correlationId));
    }
    std::free(buffer);
  }

  Cupti cupti_;
  const bool registers_once_;
  const bool has_clock_;
  bool registered_ = false;
  CUpti_SubscriberHandle subscriber_ = nullptr;
  std::uint64_t spells_ = 0;
};

// Captures one graph after another until told to stop; a capture that somebody ended is an error.
class Capturing {
 public:
  explicit Capturing(int device) : thread_([this, device] { run(device); }) {}
  void finish() {
    stop_ = true;
    thread_.join();
    if (!problem_.empty()) {
      throw std::runtime_error(problem_);
    }
    std::printf("graphs captured: %s\n", graphs_ > 0 ? "some" : "none");
  }

 private:
  void run(int device) try {
    cudaStream_t stream = nullptr;
    CHECK(cudaSetDevice(device));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (; !stop_; ++graphs_) {
      cudaGraph_t graph = nullptr;
      CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      for (int i = 0; i < 3; ++i) {
        captured.launch(stream);
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
      CHECK(cudaStreamEndCapture(stream, &graph));
      std::size_t nodes = 0;
      CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
      if (nodes != 3) {
        throw std::runtime_error("the graph has " + std::to_string(nodes) + " nodes");
      }
      CHECK(cudaGraphDestroy(graph));
    }
    CHECK(cudaStreamDestroy(stream));
  } catch (const std::exception& problem) {
    problem_ = std::string("capture: ") + problem.what();
  }

  std::atomic<bool> stop_{false};
  int graphs_ = 0;
  std::string problem_;
  std::thread thread_;
};

void operations(Job& job) {
  constexpr std::size_t count = 65536;
  float* memory = job.memory();
  CHECK(ncclAllReduce(memory, memory, count, ncclFloat32, ncclSum, job.world(), job.compute()));
  CHECK(ncclGroupStart());
  CHECK(
      ncclAllReduce(memory, memory, count, ncclFloat32, ncclSum, job.world(), job.communication()));
  CHECK(ncclBroadcast(memory, memory, count, ncclFloat32, 0, job.world(), job.communication()));
  CHECK(ncclAllReduce(memory, memory, 2000, ncclFloat32, ncclSum, job.world(), job.compute()));
  CHECK(ncclGroupEnd());
  CHECK(
      ncclAllReduce(memory, memory, 1000, ncclFloat32, ncclSum, job.world(), job.communication()));
}

void train_step(Job& job) {
  for (int layer = 0; layer < 4; ++layer) {
    forward.launch(job.compute());
  }
  operations(job);
  CHECK(cudaStreamSynchronize(job.compute()));
  CHECK(cudaStreamSynchronize(job.communication()));
  CHECK(cudaGetLastError());
}

void profile_around(OwnProfiler& profiler, int step, int steps) {
  const int third = steps / 3, middle = steps / 2;
  if (step == third || step == middle) {
    profiler.start();
  }
  if (step == middle - 2 || step == steps - third) {
    profiler.stop();
  }
}

void run(int argc, char** argv) {
  Job job(argc, argv, true, {"--own", "--dlsym", "--once", "--own-clock", "--capture"});
  OwnProfiler profiler(job.flag("--dlsym"), job.flag("--once"), job.flag("--own-clock"));
  std::unique_ptr<Capturing> capturing;
  if (job.flag("--capture")) {
    int device = 0;
    CHECK(cudaGetDevice(&device));
    capturing = std::make_unique<Capturing>(device);
  }
  job.run([&](int) { train_step(job); },
          [&](int step) {
            if (job.flag("--own")) {
              profile_around(profiler, step, job.steps());
            }
          });
  if (capturing != nullptr) {
    capturing->finish();
  }
  if (job.rank() == 0) {
    OwnProfiler::print();
  }
}

}  // namespace
}  // namespace traceagent::programs

int main(int argc, char** argv) {
  return traceagent::programs::guarded("cupti_user",
                                       [=] { traceagent::programs::run(argc, argv); });
}
