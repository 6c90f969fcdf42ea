#include "tests/programs/job.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "tests/sim/mark.hpp"
#include "tools/demo_program/check.hpp"
#include "tools/demo_program/range.hpp"
#include "tools/demo_program/rendezvous.hpp"

namespace traceagent::programs {

Job::Job(int argc, char** argv, bool uses_nccl, std::initializer_list<const char*> flags)
    : ranks_(demo::read_ranks()) {
  for (const char* name : flags) {
    flags_[name] = false;
  }
  parse(argc, argv);
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  CHECK(cudaSetDevice(ranks_.local_rank % devices));
  CHECK(cudaStreamCreateWithFlags(&compute_, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&communication_, cudaStreamNonBlocking));
  CHECK(cudaEventCreateWithFlags(&ready_, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&reduced_, cudaEventDisableTiming));
  CHECK(cudaMalloc(reinterpret_cast<void**>(&memory_), memory_floats * sizeof(float)));
  CHECK(cudaMallocHost(reinterpret_cast<void**>(&host_), batch_floats * sizeof(float)));
  if (uses_nccl) {
    connect();
  }
}

Job::~Job() {
  cudaDeviceSynchronize();
  if (world_ != nullptr) {
    ncclCommDestroy(world_);
  }
  cudaFreeHost(host_);
  cudaFree(memory_);
  cudaEventDestroy(reduced_);
  cudaEventDestroy(ready_);
  cudaStreamDestroy(communication_);
  cudaStreamDestroy(compute_);
}

void Job::parse(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--steps" && i + 1 < argc) {
      steps_ = std::atoi(argv[++i]);
    } else if (name == "--no-nvtx") {
      nvtx_ = false;
    } else if (flags_.contains(name)) {
      flags_[name] = true;
    } else {
      std::fprintf(stderr, "usage: %s [--steps N] [--no-nvtx]", argv[0]);
      for (const auto& flag : flags_) {
        std::fprintf(stderr, " [%s]", flag.first.c_str());
      }
      std::fprintf(stderr, "\n");
      std::exit(name == "--help" ? 0 : 2);
    }
  }
}

void Job::connect() {
  ncclUniqueId id{};
  if (ranks_.rank == 0) {
    CHECK(ncclGetUniqueId(&id));
  }
  const std::string mine(reinterpret_cast<const char*>(&id), sizeof id);
  const std::string agreed = demo::exchange(ranks_, demo::rendezvous_folder(ranks_, ""), mine);
  std::memcpy(&id, agreed.data(), sizeof id);
  CHECK(ncclCommInitRank(&world_, ranks_.size, id, ranks_.rank));
}

void Job::run(const std::function<void(int step)>& body,
              const std::function<void(int step)>& after) {
  for (int step = 1; step <= steps_; ++step) {
    {
      const demo::Range range(nvtx_, "step", step);
      simgpu_mark("step_begin", static_cast<std::uint64_t>(step));
      body(step);
      simgpu_mark("step_end", static_cast<std::uint64_t>(step));
    }
    if (after) {
      after(step);
    }
  }
  CHECK(cudaDeviceSynchronize());
  if (ranks_.rank == 0) {
    std::printf("optimizer steps: %d\n", static_cast<int>(optimized_));
  }
}

void Job::reduce_bucket(std::size_t count) {
  CHECK(cudaEventRecord(ready_, compute_));
  CHECK(cudaStreamWaitEvent(communication_, ready_, 0));
  CHECK(ncclAllReduce(memory_, memory_, count, ncclFloat32, ncclSum, world_, communication_));
}

void Job::join_communication() {
  CHECK(cudaEventRecord(reduced_, communication_));
  CHECK(cudaStreamWaitEvent(compute_, reduced_, 0));
}

void Job::optimize(const Kernel& optimizer) {
  constexpr int launches = 4;  // as an optimizer that takes the parameters in chunks
  mark_optimizer();
  for (int i = 0; i < launches; ++i) {
    optimizer.launch(compute_);
  }
}

void Job::mark_optimizer() { simgpu_mark("step", ++optimized_); }

void Job::load_batch() {
  CHECK(cudaMemcpyAsync(memory_, host_, batch_floats * sizeof(float), cudaMemcpyHostToDevice,
                        compute_));
}

void Job::read_back() {
  CHECK(cudaMemcpyAsync(host_, memory_, sizeof(float), cudaMemcpyDeviceToHost, compute_));
  CHECK(cudaStreamSynchronize(compute_));
}

int guarded(const char* program, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s: %s\n", program, problem.what());
    return 1;
  }
  return 0;
}

}  // namespace traceagent::programs
