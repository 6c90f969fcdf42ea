#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>

#include "tests/programs/kernel.hpp"
#include "tools/demo_program/ranks.hpp"

namespace traceagent::programs {

/// What the step programs have in common: options, rank, world communicator, streams, and the
/// truth about how many optimizer steps ran.
class Job {
 public:
  /// Understands --steps N, --no-nvtx and the program's own flags.
  Job(int argc, char** argv, bool uses_nccl, std::initializer_list<const char*> flags = {});
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  int steps() const { return steps_; }
  bool flag(const std::string& name) const { return flags_.at(name); }
  int rank() const { return ranks_.rank; }
  int size() const { return ranks_.size; }
  ncclComm_t world() const { return world_; }
  cudaStream_t compute() const { return compute_; }
  cudaStream_t communication() const { return communication_; }

  /// Runs the body once per step inside an NVTX range "step", and `after`, if any, outside of it.
  /// Marks in the truth around the body tell which calls are whose.
  void run(const std::function<void(int step)>& body,
           const std::function<void(int step)>& after = nullptr);

  /// The all-reduce of a bucket on the communication stream, after what compute holds now.
  void reduce_bucket(std::size_t count);
  /// Compute goes on after everything that communication holds now.
  void join_communication();
  /// Marks the optimizer step in the truth, inside of the step and not at its very edge, and
  /// launches the optimizer's kernels.
  void optimize(const Kernel& optimizer);
  /// Where something else launches them.
  void mark_optimizer();
  /// Copies a batch to the device, as a training loop does for every micro batch.
  void load_batch();
  /// Reads a number back from the device, as a training loop does to print its loss.
  void read_back();
  float* memory() const { return memory_; }

  static constexpr std::size_t memory_floats = std::size_t{1} << 20;
  static constexpr std::size_t batch_floats = 4096;

 private:
  void parse(int argc, char** argv);
  void connect();

  int steps_ = 200;
  std::uint64_t optimized_ = 0;
  bool nvtx_ = true;
  std::map<std::string, bool> flags_;
  demo::Ranks ranks_;
  ncclComm_t world_ = nullptr;
  cudaStream_t compute_ = nullptr;
  cudaStream_t communication_ = nullptr;
  cudaEvent_t ready_ = nullptr;
  cudaEvent_t reduced_ = nullptr;
  float* memory_ = nullptr;
  float* host_ = nullptr;
};

/// main's body: one line on stderr and 1 for an error, else 0.
int guarded(const char* program, const std::function<void()>& body);

}  // namespace traceagent::programs
