#include "tools/import/file_ranks.hpp"

#include <algorithm>

#include "agent/trace/merge_input.hpp"
#include "tools/import/older_states.hpp"
#include "tools/import/sagemaker_names.hpp"

namespace traceagent::tools {

bool is_in(const RankRanges& ranges, std::int64_t rank) {
  return std::any_of(ranges.begin(), ranges.end(), [rank](const auto& range) {
    return range.first <= rank && rank <= range.second;
  });
}

void FileRanks::find() {
  std::set<std::int64_t> taken = own_.ranks;
  for (const auto& file : files_) {
    if (file->rank()) taken.insert(*file->rank());
    taken.insert(file->own_ranks().begin(), file->own_ranks().end());
  }
  find_ranks_of_processes(taken);
  note_beginnings();
  for (const auto& file : files_) {
    if (file->rank()) continue;
    const auto known = rank_before(*file);
    file->set_rank(known ? *known : next_rank(*file, taken));
    if (file->report().is_trace) note_beginning(file->begins(), *file->rank());
  }
}

// Of a file of which nothing is known.
std::int64_t FileRanks::next_rank(const ForeignFile& file, std::set<std::int64_t>& taken) {
  if (own_.is_of_one_rank()) return *own_.ranks.begin();
  while (taken.contains(free_) || is_in(others_, free_)) ++free_;
  if (file.is_trace() && !file.is_empty()) taken.insert(free_);
  return free_;
}

void FileRanks::note_beginnings() {
  for (const auto& [identity, source] : own_.imported) {
    if (source.has_clock) note_beginning(source.begins, source.rank);
  }
  for (const auto& file : files_) {
    if (file->rank() && file->report().is_trace) note_beginning(file->begins(), *file->rank());
  }
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
  if (!file.report().is_trace) return std::nullopt;
  if (const ImportedSource* const known = known_.find(file)) return known->rank;
  const auto older = older_states_of(file, own_).rank;
  return older ? older : rank_of_beginning(file);
}

// What is of such a beginning is of this rank. A single event that is there might be another
// process's, too.
void FileRanks::note_beginning(const std::string& begins, std::int64_t rank) {
  const std::string first = begins.substr(0, marks_of_two);
  if (first.size() == marks_of_two) by_beginning_[first].emplace_back(begins, rank);
}

// Of another state of the file.
std::optional<std::int64_t> FileRanks::rank_of_beginning(const ForeignFile& file) const {
  const std::string begins = file.begins();
  const auto found = by_beginning_.find(begins.substr(0, marks_of_two));
  if (found == by_beginning_.end()) return std::nullopt;
  for (const auto& [other, rank] : found->second) {
    if (trace::begin_alike(begins, other)) return rank;
  }
  return std::nullopt;
}

}  // namespace traceagent::tools
