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

/// How NCCL carries out the tasks of one kernel.
class Launch {
 public:
  explicit Launch(const std::vector<Task>& tasks);

  /// The largest task's first.
  std::vector<Plan> plans() const;
  /// After the kernel is launched, on the thread that launched it.
  void tell();

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
};

}  // namespace simgpu::nccl::plugin
