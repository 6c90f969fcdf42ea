#include "tools/import/mixed_ranks.hpp"

#include <algorithm>
#include <map>
#include <optional>

namespace traceagent::tools {

namespace {

using Files = std::vector<const ForeignFile*>;

std::optional<MixedRank> of_two_hosts(const Files& files) {
  const ForeignFile* first = nullptr;
  for (const ForeignFile* const file : files) {
    const std::string host = file->host();
    if (host.empty()) continue;
    if (first == nullptr) first = file;
    if (host == first->host()) continue;
    return MixedRank{0, first->path(), file->path(),
                     "is of two hosts, " + first->host() + " and " + host};
  }
  return std::nullopt;
}

bool share_a_program(const ForeignFile& a, const ForeignFile& b) {
  return std::any_of(a.program_pids().begin(), a.program_pids().end(),
                     [&b](std::int64_t pid) { return b.program_pids().contains(pid); });
}

// In the order of time each need be compared with the one alone that ends last of those before it.
std::optional<MixedRank> of_two_programs(Files files) {
  std::erase_if(files, [](const ForeignFile* file) {
    return file->program_pids().empty() || !file->first_ns();
  });
  std::stable_sort(files.begin(), files.end(), [](const ForeignFile* a, const ForeignFile* b) {
    return a->first_ns() < b->first_ns();
  });
  const ForeignFile* last = nullptr;
  for (const ForeignFile* const file : files) {
    const bool is_at_a_time = last != nullptr && file->first_ns() < last->last_ns();
    if (is_at_a_time && !share_a_program(*file, *last)) {
      return MixedRank{0, last->path(), file->path(), "is of two processes at a time"};
    }
    if (last == nullptr || last->last_ns() < file->last_ns()) last = file;
  }
  return std::nullopt;
}

}  // namespace

std::vector<MixedRank> mixed_ranks(const ForeignFiles& files) {
  std::map<std::int64_t, Files> files_of_rank;
  for (const auto& file : files) {
    const bool is_of_one = file->is_taken() && file->report().ranks.size() == 1;
    if (!is_of_one || file->is_ours()) continue;
    files_of_rank[file->report().ranks.front()].push_back(file.get());
  }
  std::vector<MixedRank> mixed;
  for (const auto& [rank, of_rank] : files_of_rank) {
    auto found = of_two_hosts(of_rank);
    if (!found) found = of_two_programs(of_rank);
    if (!found) continue;
    found->rank = rank;
    mixed.push_back(*std::move(found));
  }
  return mixed;
}

}  // namespace traceagent::tools
