#include "tools/import/composer_merges.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace traceagent::tools {

namespace {

using FilesOfRanks = std::map<std::int64_t, std::vector<ForeignFile*>>;

// One behind the other in time, the beginning of another one before it.
FilesOfRanks files_of_one_rank(const ForeignFiles& files, const RankRanges& others) {
  FilesOfRanks of_ranks;
  for (const auto& file : files) {
    const Fingerprints& ranks = file->fingerprints();
    const bool is_of_one = ranks.size() == 1 && !is_in(others, ranks.begin()->first);
    if (is_of_one && file->is_taken()) of_ranks[ranks.begin()->first].push_back(file.get());
  }
  const auto place = [](const ForeignFile* file) {
    const RankFingerprint& fingerprint = file->fingerprints().begin()->second;
    return std::pair(fingerprint.first_ns, fingerprint.events);
  };
  for (auto& [rank, of_rank] : of_ranks) {
    std::sort(of_rank.begin(), of_rank.end(),
              [&](const ForeignFile* a, const ForeignFile* b) { return place(a) < place(b); });
  }
  return of_ranks;
}

HeldRanks held_by_others(const ForeignFile& file, const FilesOfRanks& of_ranks) {
  std::map<std::int64_t, std::vector<RankFingerprint>> others;
  for (const auto& [rank, fingerprint] : file.fingerprints()) {
    const auto found = of_ranks.find(rank);
    if (found == of_ranks.end()) continue;
    for (ForeignFile* const other : found->second) {
      if (other == &file || !other->is_taken()) continue;
      others[rank].push_back(other->fingerprints().at(rank));
    }
  }
  return held_ranks(file.fingerprints(), others);
}

}  // namespace

void leave_out_composers_merges(ForeignFiles& files, const RankRanges& others) {
  const FilesOfRanks of_ranks = files_of_one_rank(files, others);
  for (auto file = files.rbegin(); file != files.rend(); ++file) {
    if (!(*file)->is_taken() || (*file)->fingerprints().empty()) continue;
    (*file)->leave_out_or_warn(held_by_others(**file, of_ranks));
  }
}

}  // namespace traceagent::tools
