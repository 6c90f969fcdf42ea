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

using Cycles = std::vector<RankFingerprint>;

// Cycles do the same work, so that a sum over them may be that of others. Of each rank there are as
// many, and each began when that of the lowest rank did and no other: ranks may have kept others.
bool are_same_cycles(const Cycles& lowest, const Cycles& other) {
  if (lowest.size() != other.size()) return false;
  for (std::size_t i = 0; i < lowest.size(); ++i) {
    const std::int64_t began_ns = lowest[i].first_ns;
    const std::int64_t apart_ns = std::abs(other[i].first_ns - began_ns);
    const bool is_nearest = std::all_of(lowest.begin(), lowest.end(), [&](const auto& cycle) {
      const std::int64_t gap_ns = std::abs(cycle.first_ns - began_ns);
      return gap_ns == 0 || apart_ns < gap_ns / 2;
    });
    if (!is_nearest) return false;
  }
  return true;
}

}  // namespace

HeldRanks held_ranks(const Fingerprints& merged,
                     const std::map<std::int64_t, std::vector<RankFingerprint>>& files) {
  HeldRanks held;
  RankFingerprint of_merged, of_files;
  std::int64_t lowest_last_ns = 0;
  bool are_cycles_same = true;
  for (const auto& [rank, fingerprint] : merged) {
    of_merged.add(fingerprint);
    const auto found = files.find(rank);
    are_cycles_same = are_cycles_same && found != files.end();
    if (found == files.end()) continue;
    const bool is_lowest = rank == merged.begin()->first;
    const bool is_rank_held = is_held(fingerprint, found->second, !is_lowest);
    held.count += is_rank_held ? 1 : 0;
    const auto lowest = files.find(merged.begin()->first);
    are_cycles_same = are_cycles_same && (is_lowest || is_rank_held) &&
                      are_same_cycles(lowest->second, found->second);
    for (const RankFingerprint& cycle : found->second) {
      of_files.add(cycle);
      if (is_lowest) lowest_last_ns = std::max(lowest_last_ns, cycle.last_ns);
    }
  }
  held.are_all = held.count == merged.size();
  const bool are_all_cycles = !merged.empty() && are_cycles_same &&
                              has_same_events(of_merged, of_files) &&
                              are_near(merged.begin()->second.last_ns, lowest_last_ns);
  if (are_all_cycles) held = {merged.size(), true};
  return held;
}

}  // namespace traceagent::tools
