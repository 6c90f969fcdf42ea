#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "agent/trace/side_work.hpp"

namespace traceagent::tools {

// Work in a thread of its own; where none is to be had, in the caller's.
class SideThread : public trace::SideWork {
 public:
  SideThread();
  ~SideThread() override;
  SideThread(const SideThread&) = delete;
  SideThread& operator=(const SideThread&) = delete;

  void begin(std::function<void()> work) override;
  void wait() override;

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;  // set: it is to be done or being done
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace traceagent::tools
