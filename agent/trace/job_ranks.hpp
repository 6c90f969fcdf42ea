#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::trace {

// Which ranks of their job trace files hold, and which of them are missing. Files of one node are
// to have as many ranks as that node; those of several, all of the job's.
class JobRanks {
 public:
  static constexpr std::size_t most_named = 4096;  // a file's numbers are not to be trusted

  // "traceagent" of a rank's file, or an element of a merged file's "merged". Of one that says
  // nothing of the job only the rank is known.
  void add_metadata(std::string_view metadata);
  void add_rank(std::int64_t rank) { ranks_.insert(rank); }

  [[nodiscard]] const std::set<std::int64_t>& ranks() const { return ranks_; }
  // 0: no file says it.
  [[nodiscard]] std::int64_t world_size() const { return world_size_; }
  // All files are of one node, and the job has others.
  [[nodiscard]] bool is_of_one_node() const;
  [[nodiscard]] std::int64_t node_rank() const {
    return nodes_.empty() ? 0 : nodes_.begin()->first;
  }
  [[nodiscard]] std::int64_t ranks_of_node() const {
    return nodes_.empty() ? 0 : nodes_.begin()->second.size;
  }
  // By number, as far as it is known; the first `most_named`, and one more where there are more.
  [[nodiscard]] std::vector<std::int64_t> missing() const;
  // Ranks of the one node that are missing, and nobody knows by which numbers: launchers count in
  // rows or deal them round.
  [[nodiscard]] std::int64_t missing_unnamed() const;
  // All of the job that are not here, for whatever reason; as `missing`.
  [[nodiscard]] std::vector<std::int64_t> absent() const { return not_here(0, world_size_, 1); }

 private:
  struct Node {
    std::int64_t size = 0;
    std::map<std::int64_t, std::int64_t> rank_of_local;
  };

  // From one local rank to the next; 0: not known.
  [[nodiscard]] static std::int64_t stride_of(const Node& node);
  [[nodiscard]] std::vector<std::int64_t> not_here(std::int64_t first, std::int64_t count,
                                                   std::int64_t stride) const;

  std::int64_t world_size_ = 0;
  std::set<std::int64_t> ranks_;
  std::map<std::int64_t, Node> nodes_;
};

// "rank 2", "ranks 0-2, 7"; of more than `most_named` also that there are more.
std::string ranks_in_words(const std::vector<std::int64_t>& ascending);

}  // namespace traceagent::trace
