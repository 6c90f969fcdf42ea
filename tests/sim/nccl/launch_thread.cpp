#include "tests/sim/nccl/launch_thread.hpp"

#include <utility>

namespace simgpu::nccl {

LaunchThread::LaunchThread(std::function<void()> body)
    : thread_([this, body = std::move(body)] {
        body();
        is_over_.store(true);
      }) {}

LaunchThread::~LaunchThread() { thread_.join(); }

}  // namespace simgpu::nccl
