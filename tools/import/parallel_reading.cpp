#include "tools/import/parallel_reading.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

namespace traceagent::tools {

namespace {

constexpr unsigned most_threads = 4;

}  // namespace

ParallelReading::ParallelReading(ForeignFiles& files, ForeignPids& pids,
                                 const ImportOptions& options)
    : files_(files), pids_(pids), options_(options) {
  for (const auto& file : files_) {
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(file->report().path, none);
    total_bytes_ += none ? 0 : size;
  }
}

void ParallelReading::read_all() {
  groups_ = due_by_rank([](const ForeignFile& file) { return file.is_ours(); });
  read_groups();
  do {
    groups_ = due_by_rank([](const ForeignFile&) { return true; });
    read_groups();
  } while (!groups_.empty() && goes_on_);
}

std::vector<std::vector<ForeignFile*>> ParallelReading::due_by_rank(
    bool (*is_wanted)(const ForeignFile&)) const {
  std::map<std::int64_t, std::vector<ForeignFile*>> by_rank;
  for (const auto& file : files_) {
    const bool is_due = file->report().is_trace && file->is_due();
    if (is_due && is_wanted(*file)) by_rank[*file->rank()].push_back(file.get());
  }
  std::vector<std::vector<ForeignFile*>> groups;
  for (auto& [rank, files] : by_rank) groups.push_back(std::move(files));
  return groups;
}

void ParallelReading::read_groups() {
  next_group_ = 0;
  const unsigned wanted = options_.threads != 0
                              ? options_.threads
                              : std::min(most_threads, std::thread::hardware_concurrency());
  const std::size_t most = std::min<std::size_t>(wanted, groups_.size());
  std::vector<std::thread> threads;
  threads.reserve(most);
  try {
    while (threads.size() + 1 < most) threads.emplace_back([this] { work(false); });
  } catch (const std::exception&) {
    // A limit on threads, or no memory: those there are do.
  }
  work(true);
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);
}

void ParallelReading::work(bool tells_progress) {
  const auto on_bytes = [this, tells_progress](std::uint64_t bytes) {
    const std::uint64_t done = done_bytes_ += bytes;
    if (tells_progress && options_.progress && !options_.progress(done, total_bytes_)) {
      goes_on_ = false;
    }
    return goes_on_.load();
  };
  try {
    for (std::size_t i = next_group_++; i < groups_.size() && goes_on_; i = next_group_++) {
      for (ForeignFile* const file : groups_[i]) file->read(pids_, on_bytes);
    }
  } catch (...) {
    const std::lock_guard lock(failure_mutex_);
    failure_ = std::current_exception();
    goes_on_ = false;
  }
}

}  // namespace traceagent::tools
