#include "agent/trace/job_ranks.hpp"

#include <algorithm>
#include <iterator>

#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

constexpr std::int64_t largest_world = std::int64_t{1} << 32;

bool is_within(std::int64_t number, std::int64_t count) { return number >= 0 && number < count; }

// Those of 0 to `count` that are not in it. Each look finds one, or is of one that is there.
template <class Numbers>
std::vector<std::int64_t> not_in(const Numbers& numbers, std::int64_t count) {
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < count && found.size() <= JobRanks::most_named; ++i) {
    if (!numbers.contains(i)) found.push_back(i);
  }
  return found;
}

}  // namespace

void JobRanks::add_metadata(std::string_view metadata) {
  if (member(metadata, "imported")) return;  // of others
  const std::string_view identity = member(metadata, "identity").value_or(metadata);
  const auto number = [&](std::string_view key) {
    return integer_member(identity, key).value_or(-1);
  };
  const std::int64_t rank = number("rank");
  const std::int64_t local_rank = number("local_rank");
  const std::int64_t world_size = number("world_size");
  const std::int64_t size = number("local_world_size");
  if (rank < 0) return;
  add_rank(rank);
  const bool is_sound = is_within(world_size, largest_world) && is_within(rank, world_size) &&
                        is_within(local_rank, size) && size <= world_size;
  if (!is_sound) return;
  const bool is_lowest = described_.empty() || local_rank < rank_of_local_.begin()->first;
  if (is_lowest) node_rank_ = number("node_rank");
  least_local_ = described_.empty() ? size : std::min(least_local_, size);
  most_local_ = std::max(most_local_, size);
  world_size_ = std::max(world_size_, world_size);
  described_.insert(rank);
  hosts_.emplace(string_member(identity, "host").value_or(""));
  node_ranks_.insert(number("node_rank"));
  const std::string_view source = string_member(identity, "source").value_or("");
  is_node_rank_guess_ |= source.find(node_rank_is_guess) != std::string_view::npos;
  is_size_guess_ |= source.find(local_world_size_is_guess) != std::string_view::npos;
  const auto [known, is_new] = rank_of_local_.try_emplace(local_rank, rank);
  are_locals_shared_ = are_locals_shared_ || (!is_new && known->second != rank);
}

void JobRanks::add_cut(std::string_view distributed_info) {
  const std::int64_t rank = integer_member(distributed_info, "rank").value_or(-1);
  const std::int64_t world_size = integer_member(distributed_info, "world_size").value_or(0);
  if (rank < 0) return;
  add_rank(rank);
  if (!is_within(world_size, largest_world) || !is_within(rank, world_size)) return;
  world_size_ = std::max(world_size_, world_size);
  node_ranks_.insert(integer_member(distributed_info, "node_rank").value_or(-1));
  if (const auto host = string_member(distributed_info, "host")) hosts_.emplace(*host);
}

void JobRanks::add(const JobRanks& others) {
  const bool is_first = described_.empty();
  if (!others.described_.empty()) {
    least_local_ = is_first ? others.least_local_ : std::min(least_local_, others.least_local_);
    if (is_first || others.rank_of_local_.begin()->first < rank_of_local_.begin()->first) {
      node_rank_ = others.node_rank_;
    }
  }
  most_local_ = std::max(most_local_, others.most_local_);
  world_size_ = std::max(world_size_, others.world_size_);
  ranks_.insert(others.ranks_.begin(), others.ranks_.end());
  described_.insert(others.described_.begin(), others.described_.end());
  hosts_.insert(others.hosts_.begin(), others.hosts_.end());
  node_ranks_.insert(others.node_ranks_.begin(), others.node_ranks_.end());
  are_locals_shared_ |= others.are_locals_shared_;
  for (const auto& [local_rank, rank] : others.rank_of_local_) {
    const auto [known, is_new] = rank_of_local_.try_emplace(local_rank, rank);
    are_locals_shared_ |= !is_new && known->second != rank;
  }
  is_node_rank_guess_ |= others.is_node_rank_guess_;
  is_size_guess_ |= others.is_size_guess_;
}

bool JobRanks::is_of_one_node() const {
  if (described_.empty() || most_local_ >= world_size_) return false;
  const bool has_room = !are_locals_shared_ && std::ssize(described_) <= most_local_;
  const bool is_one_place = is_node_rank_guess_ ? hosts_.size() == 1 : node_ranks_.size() == 1;
  return is_one_nodes_ || (has_room && is_one_place);
}

std::vector<std::int64_t> JobRanks::missing() const {
  return is_of_one_node() ? std::vector<std::int64_t>() : absent();
}

std::vector<std::int64_t> JobRanks::absent() const { return not_in(ranks_, world_size_); }

std::int64_t JobRanks::missing_of_node() const {
  return is_of_one_node() ? std::max<std::int64_t>(0, most_local_ - std::ssize(ranks_)) : 0;
}

std::vector<std::int64_t> JobRanks::missing_local_ranks() const {
  const bool are_all_known = !are_locals_shared_ && described_.size() == ranks_.size() &&
                             rank_of_local_.size() == ranks_.size();
  return are_all_known ? not_in(rank_of_local_, most_local_) : std::vector<std::int64_t>();
}

std::string JobRanks::missing_of_node_in_words() const {
  const std::int64_t count = missing_of_node();
  if (count == 0) return {};
  const std::vector<std::int64_t> local_ranks = missing_local_ranks();
  const std::string node = "node " + std::to_string(node_rank_);
  const std::string size = is_node_size_known() ? " " + std::to_string(most_local_) : "";
  if (local_ranks.empty()) return std::to_string(count) + " of " + node + "'s" + size + " ranks";
  return "local " + ranks_in_words(local_ranks) + " of " + node + (size.empty() ? "" : "'s" + size);
}

std::string ranks_in_words(const std::vector<std::int64_t>& ascending) {
  std::string words;
  for (std::size_t at = 0; at < ascending.size();) {
    std::size_t last = at;
    while (last + 1 < ascending.size() && ascending[last + 1] == ascending[last] + 1) ++last;
    words += (words.empty() ? "" : ", ") + std::to_string(ascending[at]);
    if (last > at) words += "-" + std::to_string(ascending[last]);
    at = last + 1;
  }
  const char* const more = ascending.size() > JobRanks::most_named ? ", and more" : "";
  return (ascending.size() == 1 ? "rank " : "ranks ") + words + more;
}

std::string process_in_words(std::int64_t rank, bool is_rank) {
  return (is_rank ? "rank " : "a worker of rank ") + std::to_string(rank);
}

std::optional<std::int64_t> rank_in_words(std::string_view words) {
  constexpr std::string_view before = "rank ";
  return words.starts_with(before) ? parse_integer(words.substr(before.size())) : std::nullopt;
}

}  // namespace traceagent::trace
