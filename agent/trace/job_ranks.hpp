#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace traceagent::trace {

// Ends of "source" in an identity.
inline constexpr char node_rank_is_guess[] = "; its node's number is a guess";
inline constexpr char local_world_size_is_guess[] = "; how many ranks its node has is a guess";

// Which ranks of their job trace files of ours hold, and which of them are missing. Files of one
// node are to have as many ranks as that node, and those of several all of the job's.
//
// Of a node of several its local ranks are known, 0 to its size, and not which ranks of the job
// they are: launchers count in rows, deal them round, or fill the nodes' slots, which may be of
// different numbers. Nor is the node's number: Open MPI tells none, and each rank guesses.
class JobRanks {
 public:
  static constexpr std::size_t most_named = 4096;  // a file's numbers are not to be trusted

  // "traceagent" of a rank's file, or an element of a merged file's "merged".
  void add_metadata(std::string_view metadata);
  // Of a file that is cut: its "distributedInfo", or the rank alone.
  void add_cut(std::string_view distributed_info);
  void add_rank(std::int64_t rank) { ranks_.insert(rank); }
  // Else they are taken for one node's where no two have one local rank, and a launcher told all of
  // them the same node's number, or they are of one host and some guess.
  void take_for_one_nodes() { is_one_nodes_ = true; }
  void add(const JobRanks& others);

  [[nodiscard]] const std::set<std::int64_t>& ranks() const { return ranks_; }
  // 0: no file says it.
  [[nodiscard]] std::int64_t world_size() const { return world_size_; }
  // All files are of one node, and the job has others.
  [[nodiscard]] bool is_of_one_node() const;
  [[nodiscard]] std::int64_t node_rank() const { return node_rank_; }
  [[nodiscard]] std::int64_t ranks_of_node() const { return most_local_; }
  [[nodiscard]] bool is_node_rank_known() const { return !is_node_rank_guess_; }
  // Where no launcher tells it each rank takes its node to have those up to itself.
  [[nodiscard]] bool is_node_size_known() const {
    return !is_size_guess_ && least_local_ == most_local_;
  }
  // By number, the first `most_named` and one more; of one node of several see below.
  [[nodiscard]] std::vector<std::int64_t> missing() const;
  // "local rank 2 of node 1's 4", or "2 of node 1's 4 ranks" where it is not known which; empty:
  // none, or `missing` names them.
  [[nodiscard]] std::string missing_of_node_in_words() const;
  // All of the job that are not here, for whatever reason; as `missing`.
  [[nodiscard]] std::vector<std::int64_t> absent() const;

 private:
  [[nodiscard]] std::int64_t missing_of_node() const;
  [[nodiscard]] std::vector<std::int64_t> missing_local_ranks() const;

  std::int64_t world_size_ = 0;
  std::int64_t node_rank_ = 0;  // as the lowest local rank says
  std::int64_t least_local_ = 0, most_local_ = 0;
  std::set<std::int64_t> ranks_, described_;
  std::set<std::string> hosts_;
  std::map<std::int64_t, std::int64_t> rank_of_local_;
  std::set<std::int64_t> node_ranks_;
  bool is_node_rank_guess_ = false, is_size_guess_ = false;
  bool is_one_nodes_ = false;
  bool are_locals_shared_ = false;  // two ranks have one
};

// "rank 2", "ranks 0-2, 7".
std::string ranks_in_words(const std::vector<std::int64_t>& ascending);
// "rank 2", or "a worker of rank 2": a second claimant is a process of its own, and the rank itself
// may have ended.
std::string process_in_words(std::int64_t rank, bool is_rank);
// The rank of "rank 2"; nothing where it is no such text.
std::optional<std::int64_t> rank_in_words(std::string_view words);

}  // namespace traceagent::trace
