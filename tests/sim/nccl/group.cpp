#include "tests/sim/nccl/group.hpp"

#include <algorithm>
#include <utility>

#include "tests/sim/engine/clock.hpp"
#include "tests/sim/engine/driver.hpp"
#include "tests/sim/engine/script.hpp"
#include "tests/sim/engine/timeline.hpp"
#include "tests/sim/nccl/bodies.hpp"
#include "tests/sim/nccl/kernel.hpp"
#include "tests/sim/nccl/plugin.hpp"

namespace simgpu::nccl {
namespace {

struct Group {
  int depth = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Task> tasks;
  std::vector<CommPtr> establishing;
};

// While one is open. No object with a destructor: libc keeps a library loaded for a thread's, and
// the real NCCL can be unloaded.
thread_local Group* group = nullptr;

std::unique_ptr<Rendezvous> part_of(const Task& task) {
  if (task.kind == Task::Kind::collective) {
    return collective_part(task.comm->meeting, task.label);
  }
  return pair_part(task.comm->meeting, task.label, task.kind == Task::Kind::send);
}

// What one group asks of one communicator on one stream runs as one kernel, as in the real NCCL,
// which tells its profiler plugin of it right after the launch.
void launch(std::vector<Task> tasks) {
  Stream& stream = *tasks.front().stream;
  const std::uint64_t number = tasks.front().call_number;
  plugin::Launch plans(tasks);
  Work work;
  describe_kernel(tasks, plans.plans(), work);
  work.meet = [tasks = std::move(tasks)] {
    Parts parts;
    for (const Task& task : tasks) {
      parts.push_back(part_of(task));
    }
    return parts;
  };
  if (driver::launch_kernel_ex(&stream, work, number) < 0) {
    Timeline::get().submit(stream, std::move(work), number);
  }
  plans.tell();
}

void launch_all(std::vector<Task> tasks) {
  while (!tasks.empty()) {
    const Task& first = tasks.front();
    const auto together = [&, comm = first.comm, stream = first.stream](const Task& task) {
      return task.comm == comm && task.stream == stream;
    };
    const auto rest = std::stable_partition(tasks.begin(), tasks.end(), together);
    launch({tasks.begin(), rest});
    tasks.erase(tasks.begin(), rest);
  }
}

bool blocks(const std::vector<Task>& tasks) {
  return tasks.empty() || tasks.front().comm->blocking;
}

bool blocks_differently(const std::vector<Task>& tasks) {
  return std::any_of(tasks.begin(), tasks.end(), [&](const Task& task) {
    return task.comm->blocking != tasks.front().comm->blocking;
  });
}

ncclResult_t launch_in_thread(const std::vector<Task>& tasks) {
  const auto thread = std::make_shared<LaunchThread>([tasks] {
    sleep_for(script().nccl_launch_delay_ns);
    driver::use(tasks.front().comm->device);
    launch_all(tasks);
  });
  for (const Task& task : tasks) {
    const std::lock_guard lock(task.comm->mutex);
    task.comm->launching = thread;
  }
  return thread->is_over() ? ncclSuccess : ncclInProgress;
}

ncclResult_t launch_group(const std::vector<Task>& tasks) {
  if (blocks_differently(tasks)) {
    return ncclInvalidArgument;
  }
  if (!blocks(tasks)) {
    return launch_in_thread(tasks);
  }
  launch_all(tasks);
  return ncclSuccess;
}

}  // namespace

bool in_group() { return group != nullptr; }

void start_group() {
  if (group == nullptr) group = new Group;
  ++group->depth;
}

ncclResult_t fail(ncclResult_t error) {
  if (in_group() && group->error == ncclSuccess) {
    group->error = error;
  }
  return error;
}

ncclResult_t end_group(bool launches) {
  if (!in_group()) {
    return ncclInvalidUsage;
  }
  if (--group->depth != 0) {
    return ncclSuccess;
  }
  const std::unique_ptr<Group> done(std::exchange(group, nullptr));
  if (done->error != ncclSuccess || !launches) {
    return done->error;
  }
  for (const CommPtr& comm : done->establishing) {
    if (comm->blocking) {
      comm->establish();
    }
  }
  const ncclResult_t result = launch_group(done->tasks);
  plugin::group_ends();
  return result;
}

ncclResult_t submit(Task task) {
  if (in_group()) {
    group->tasks.push_back(std::move(task));
    return ncclSuccess;
  }
  const ncclResult_t result = launch_group({std::move(task)});
  plugin::group_ends();
  return result;
}

ncclResult_t establish(const CommPtr& comm) {
  if (in_group()) {
    group->establishing.push_back(comm);
    return ncclSuccess;
  }
  if (!comm->blocking) {
    return comm->try_establish() ? ncclSuccess : ncclInProgress;
  }
  return comm->establish();
}

BODY(ncclGroupStart)(Call&) {
  start_group();
  return ncclSuccess;
}

BODY(ncclGroupEnd)(Call&) { return end_group(true); }

BODY(ncclGroupSimulateEnd)(Call&, ncclSimInfo_t* info) {
  if (info != nullptr) {
    info->estimatedTime = 20.0F;
  }
  return end_group(false);
}

}  // namespace simgpu::nccl
