#pragma once

#include <vector>

#include "tests/sim/nccl/plan.hpp"

/// The profiler plugin that $NCCL_PROFILER_PLUGIN names, called as NCCL calls it: opened with the
/// first communicator, its newest version that this NCCL knows (script: nccl: plugin_version), its
/// mask read anew for every operation. What it gets wrong is said and ends the process.
namespace simgpu::nccl::plugin {

/// The communicator has come into being, and goes.
void begin(Comm& comm);
void end(Comm& comm);

/// The program calls an operation: before its task is submitted.
void call_begins(Task& task);
/// The outermost group is over, or an operation outside of groups.
void group_ends();

/// What NCCL tells while it launches tasks of one communicator; the kernel is launched in between.
/// A communicator that does not block tells it on a thread of NCCL's.
class Launch {
 public:
  explicit Launch(const std::vector<Task>& tasks);
  ~Launch();
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;

 private:
  struct Told {
    Task task;
    Plan plan;
    void* handle = nullptr;
  };

  void start();
  void stop();

  std::vector<Told> told_;
  void* group_ = nullptr;
  bool in_thread_ = false;
};

}  // namespace simgpu::nccl::plugin
