#include "tools/side_thread.hpp"

#include <system_error>
#include <utility>

namespace traceagent::tools {

SideThread::SideThread() {
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
    // A limit on threads: begin() works then.
  }
}

SideThread::~SideThread() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SideThread::begin(std::function<void()> work) {
  if (!thread_.joinable()) return work();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !work_; });
  work_ = std::move(work);
  changed_.notify_all();
}

void SideThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !work_; });
}

void SideThread::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return work_ || is_over_; });
    if (!work_) return;
    lock.unlock();
    work_();
    lock.lock();
    work_ = nullptr;
    changed_.notify_all();
  }
}

}  // namespace traceagent::tools
