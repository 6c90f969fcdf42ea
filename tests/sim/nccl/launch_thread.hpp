#pragma once

#include <atomic>
#include <functional>
#include <thread>

namespace simgpu::nccl {

/// NCCL's own thread, which launches what one group asked of communicators that do not block.
class LaunchThread {
 public:
  explicit LaunchThread(std::function<void()> body);
  LaunchThread(const LaunchThread&) = delete;
  LaunchThread& operator=(const LaunchThread&) = delete;
  ~LaunchThread();

  bool is_over() const { return is_over_.load(); }

 private:
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

}  // namespace simgpu::nccl
