#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "agent/trace/side_reads.hpp"

namespace traceagent::tools {

// Threads that read the inputs of a merge beforehand. What none of them has taken up when it is
// needed is read by who needs it: so few threads are enough, and none are right too.
class ReadingThreads : public trace::SideReads {
 public:
  static constexpr unsigned most_threads = 7;

  // For so many inputs: one thread for each CPU but the caller's.
  explicit ReadingThreads(std::size_t inputs);
  ~ReadingThreads() override;
  ReadingThreads(const ReadingThreads&) = delete;
  ReadingThreads& operator=(const ReadingThreads&) = delete;

  // Without any, reading beforehand saves nothing.
  [[nodiscard]] bool are_any() const { return !threads_.empty(); }

  void begin(Read& read) override;
  void finish(Read& read) override;

 private:
  void work();
  void run_first(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;
  std::condition_variable has_work_;
  std::condition_variable has_done_;
  std::deque<Read*> waiting_;
  std::vector<Read*> running_;
  bool is_over_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace traceagent::tools
