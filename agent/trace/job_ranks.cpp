#include "agent/trace/job_ranks.hpp"

#include <algorithm>

#include "agent/trace/json_scan.hpp"

namespace traceagent::trace {

namespace {

constexpr std::int64_t largest_world = std::int64_t{1} << 32;

bool is_within(std::int64_t number, std::int64_t count) { return number >= 0 && number < count; }

}  // namespace

void JobRanks::add_metadata(std::string_view metadata) {
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
  world_size_ = std::max(world_size_, world_size);
  Node& node = nodes_[number("node_rank")];
  node.size = std::max(node.size, size);  // where it is a guess, each rank knows of those below it
  node.rank_of_local[local_rank] = rank;
}

bool JobRanks::is_of_one_node() const {
  return nodes_.size() == 1 && nodes_.begin()->second.size < world_size_;
}

std::vector<std::int64_t> JobRanks::missing() const {
  if (!is_of_one_node()) return absent();
  const Node& node = nodes_.begin()->second;
  const std::int64_t stride = stride_of(node);
  if (stride == 0) return {};
  const auto& [local_rank, rank] = *node.rank_of_local.begin();
  return not_here(rank - local_rank * stride, node.size, stride);
}

std::int64_t JobRanks::missing_unnamed() const {
  if (!is_of_one_node() || stride_of(nodes_.begin()->second) != 0) return 0;
  return std::max<std::int64_t>(0, ranks_of_node() - static_cast<std::int64_t>(ranks_.size()));
}

std::int64_t JobRanks::stride_of(const Node& node) {
  if (node.rank_of_local.size() < 2) return 0;
  const auto& [first_local, first] = *node.rank_of_local.begin();
  const auto& [last_local, last] = *node.rank_of_local.rbegin();
  const std::int64_t stride = (last - first) / (last_local - first_local);
  const bool is_even = std::ranges::all_of(node.rank_of_local, [&](const auto& each) {
    return each.second == first + (each.first - first_local) * stride;
  });
  return is_even && stride > 0 ? stride : 0;
}

std::vector<std::int64_t> JobRanks::not_here(std::int64_t first, std::int64_t count,
                                             std::int64_t stride) const {
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < count && ranks.size() <= most_named; ++i) {
    const std::int64_t rank = first + i * stride;
    if (is_within(rank, world_size_) && !ranks_.contains(rank)) ranks.push_back(rank);
  }
  return ranks;
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

}  // namespace traceagent::trace
