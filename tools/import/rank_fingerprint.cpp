#include "tools/import/rank_fingerprint.hpp"

#include <algorithm>
#include <cstdlib>

namespace traceagent::tools {

namespace {

// To shift microseconds since 1970 as doubles rounds each to a quarter of one, read and written.
constexpr std::int64_t rounding_ns = 1000;

bool are_near(std::int64_t a_ns, std::int64_t b_ns) { return std::abs(a_ns - b_ns) <= rounding_ns; }

bool has_same_events(const RankFingerprint& a, const RankFingerprint& b) {
  return a.events == b.events && a.names == b.names;
}

// Cycles of a rank do the same work: only the times of the lowest rank, which are not shifted, tell
// them apart for certain.
bool is_same(const RankFingerprint& merged, const RankFingerprint& own, bool is_shifted) {
  if (!has_same_events(merged, own)) return false;
  return is_shifted
             ? are_near(merged.last_ns - merged.first_ns, own.last_ns - own.first_ns)
             : are_near(merged.first_ns, own.first_ns) && are_near(merged.last_ns, own.last_ns);
}

// All of them, or cycles that follow each other.
bool is_held(const RankFingerprint& merged, const std::vector<RankFingerprint>& cycles,
             bool is_shifted) {
  for (std::size_t first = 0; first < cycles.size(); ++first) {
    RankFingerprint sum;
    for (std::size_t i = first; i < cycles.size() && sum.events < merged.events; ++i) {
      sum.add(cycles[i]);
      if (is_same(merged, sum, is_shifted)) return true;
    }
  }
  return false;
}

}  // namespace

HeldRanks held_ranks(const Fingerprints& merged,
                     const std::map<std::int64_t, std::vector<RankFingerprint>>& files) {
  HeldRanks held;
  RankFingerprint of_merged, of_files;
  std::int64_t lowest_last_ns = 0;
  for (const auto& [rank, fingerprint] : merged) {
    of_merged.add(fingerprint);
    const auto found = files.find(rank);
    if (found == files.end()) continue;
    const bool is_lowest = rank == merged.begin()->first;
    held.count += is_held(fingerprint, found->second, !is_lowest) ? 1 : 0;
    for (const RankFingerprint& cycle : found->second) {
      of_files.add(cycle);
      if (is_lowest) lowest_last_ns = std::max(lowest_last_ns, cycle.last_ns);
    }
  }
  held.are_all = held.count == merged.size();
  const bool are_all_cycles = !merged.empty() && has_same_events(of_merged, of_files) &&
                              are_near(merged.begin()->second.last_ns, lowest_last_ns);
  if (are_all_cycles) held = {merged.size(), true};
  return held;
}

}  // namespace traceagent::tools
