#include "tools/import/file_ranks.hpp"

#include <algorithm>

#include "tools/import/older_states.hpp"
#include "tools/import/sagemaker_names.hpp"

namespace traceagent::tools {

bool is_in(const RankRanges& ranges, std::int64_t rank) {
  return std::any_of(ranges.begin(), ranges.end(), [rank](const auto& range) {
    return range.first <= rank && rank <= range.second;
  });
}

void PyTorchRanks::add(std::string_view path, std::int64_t rank) {
  if (const auto name = pytorch_name(path)) ranks_[*name].insert(rank);
}

std::optional<std::int64_t> PyTorchRanks::rank(std::string_view path) const {
  const auto name = pytorch_name(path);
  const auto found = name ? ranks_.find(*name) : ranks_.end();
  const bool is_one = found != ranks_.end() && found->second.size() == 1;
  return is_one ? std::optional(*found->second.begin()) : std::nullopt;
}

void FileRanks::find() {
  std::set<std::int64_t> taken = own_.ranks;
  for (const auto& file : files_) {
    if (file->rank()) taken.insert(*file->rank());
    taken.insert(file->own_ranks().begin(), file->own_ranks().end());
  }
  find_ranks_of_processes(taken);
  for (const auto& file : files_) {
    if (file->rank()) continue;
    if (const auto known = rank_before(*file)) file->set_rank(*known);
  }
  PyTorchRanks processes = known_pytorch_ranks();
  for (const auto& file : files_) {
    if (file->rank()) continue;
    const auto of_process = processes.rank(file->path());
    file->set_rank(of_process ? *of_process : next_rank(*file, taken));
    if (file->is_trace() && !file->is_empty()) processes.add(file->path(), *file->rank());
  }
}

PyTorchRanks FileRanks::known_pytorch_ranks() const {
  PyTorchRanks ranks;
  for (const auto& file : files_) {
    if (file->rank() && file->is_trace()) ranks.add(file->path(), *file->rank());
  }
  for (const auto& [identity, source] : own_.imported) ranks.add(source.file_name(), source.rank);
  return ranks;
}

// Of a file of which nothing is known.
std::int64_t FileRanks::next_rank(const ForeignFile& file, std::set<std::int64_t>& taken) {
  if (own_.is_of_one_rank()) return *own_.ranks.begin();
  while (taken.contains(free_) || is_in(others_, free_)) ++free_;
  if (file.is_trace() && !file.is_empty()) taken.insert(free_);
  return free_;
}

// All files of one are of one rank.
void FileRanks::find_ranks_of_processes(std::set<std::int64_t>& taken) {
  SageMakerRanks ranks;
  for (const auto& file : files_) {
    if (file->process() == nullptr || !file->report().is_trace) continue;
    ranks.add(*file->process());
    if (file->rank()) ranks.add_known(file->process()->process, *file->rank());
  }
  for (const auto& [identity, source] : own_.imported) {
    if (const auto name = sagemaker_name(source.name)) ranks.add_known(name->process, source.rank);
  }
  // Left to who sees that it is beside a job of one rank.
  if (ranks.count() == 1 && own_.is_of_one_rank()) return;
  ranks.find(taken);
  for (const auto& file : files_) {
    const SageMakerName* const process = file->process();
    if (process == nullptr || !file->report().is_trace || file->rank()) continue;
    file->set_rank(ranks.rank(process->process), ranks.is_number(*process) ? "name" : "none");
  }
}

// Merged again, beside or within what it went into: the same rank, or all of it would be there
// under two.
std::optional<std::int64_t> FileRanks::rank_before(ForeignFile& file) const {
  if (own_.imported.empty() || !file.is_trace()) return std::nullopt;
  const ImportedSource* const known = known_.find(file);
  return known != nullptr ? std::optional(known->rank) : older_states_of(file, own_).rank;
}

}  // namespace traceagent::tools
