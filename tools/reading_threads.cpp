#include "tools/reading_threads.hpp"

#include <algorithm>
#include <exception>

namespace traceagent::tools {

ReadingThreads::ReadingThreads(std::size_t inputs) {
  const std::size_t others = std::max(1U, std::thread::hardware_concurrency()) - 1;
  const std::size_t wanted = std::min({others, inputs, std::size_t{most_threads}});
  running_.reserve(wanted + 1);
  threads_.reserve(wanted);
  try {
    while (threads_.size() < wanted) threads_.emplace_back([this] { work(); });
  } catch (const std::exception&) {
    // A limit on threads, or no memory: those there are do.
  }
}

ReadingThreads::~ReadingThreads() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  has_work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ReadingThreads::begin(Read& read) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(&read);
  }
  has_work_.notify_one();
}

void ReadingThreads::finish(Read& read) {
  std::unique_lock lock(mutex_);
  const auto found = std::find(waiting_.begin(), waiting_.end(), &read);
  if (found != waiting_.end()) {
    waiting_.erase(found);
    lock.unlock();
    read.run();
    return;
  }
  while (std::find(running_.begin(), running_.end(), &read) != running_.end()) {
    // What else is to be read is wanted soon.
    if (waiting_.empty()) {
      has_done_.wait(lock);
    } else {
      run_first(lock);
    }
  }
}

void ReadingThreads::run_first(std::unique_lock<std::mutex>& lock) {
  Read* const read = waiting_.front();
  waiting_.pop_front();
  running_.push_back(read);
  lock.unlock();
  read->run();
  lock.lock();
  std::erase(running_, read);
}

void ReadingThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    has_work_.wait(lock, [this] { return is_over_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    run_first(lock);
    has_done_.notify_one();
  }
}

}  // namespace traceagent::tools
