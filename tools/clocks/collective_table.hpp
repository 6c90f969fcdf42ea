#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/event/hash.hpp"
#include "tools/clocks/clock_pair.hpp"
#include "tools/clocks/clock_tree.hpp"

namespace traceagent::tools {

struct HashOfCollective {
  std::size_t operator()(const CollectiveKey& key) const {
    return event::combine(key.communicator, key.sequence);
  }
};

// Joins the collectives of many nodes, one node after the other. Of each collective it keeps one
// line: what the first node that took part in it says (the nodes' common centre); every later node
// is compared with that one, so that a collective of n nodes gives n - 1 pairs, not n². Of one with
// a root (a broadcast tells the root's start and the others' ends) it is the root that all others
// are compared with. Linear in what is added.
//
// Of more than `most` collectives every second is let go (by a hash of its key, the same on all
// nodes), again and again: memory is bounded, and what is left is still true.
class CollectiveTable {
 public:
  // About 600 MB, and more where collectives have roots.
  static constexpr std::size_t usual_most = std::size_t{1} << 22;
  explicit CollectiveTable(const ClockLimits& limits = {}, std::size_t most = usual_most)
      : limits_(limits), most_(most) {}

  // One rank's times of a collective, on the node whose finish_node() comes next.
  void add(const CollectiveKey& key, const CollectiveTimes& times);
  void finish_node(std::uint32_t node);

  // What was added, solved.
  struct Solved {
    std::vector<ClockEdge> edges;
    std::vector<std::uint64_t> collectives;  // of each edge
    std::vector<bool> allow_equal_clocks;    // likewise
    // If one pair is impossible none is to be trusted: no edges then. Where it is a doubtful one,
    // no doubtful one is.
    bool is_contradictory = false;
    std::vector<std::pair<std::uint32_t, std::uint32_t>> contradictory;  // of nodes, as far as seen
    // The last of them.
    std::uint32_t own_node = 0;
    std::uint32_t other_node = 0;
    ClockPair::Contradiction contradiction;
  };
  // `spans` by node. Pairs of nodes that may be of different runs are doubtful.
  using AreDoubtful = std::function<bool(std::uint32_t own_node, std::uint32_t other_node)>;
  Solved solve(
      const std::vector<ClockSpans>& spans,
      const AreDoubtful& are_doubtful = [](auto, auto) { return false; });
  [[nodiscard]] std::size_t collectives() const { return keys_.size(); }
  // Left out: on one node, by one clock, one of its ranks ended before another had started. So it
  // was not one collective: NCCL's numbers were counted in another way than we think.
  [[nodiscard]] std::uint64_t inconsistent() const { return inconsistent_; }
  // Of how many collectives one is looked at: 1, 2, 4, ...
  [[nodiscard]] std::uint64_t one_of() const { return sieve_ + 1; }

 private:
  static constexpr std::uint32_t no_node = ~std::uint32_t{0};
  struct Centre {
    CollectiveTimes times;
    std::uint32_t node = no_node;  // nobody yet
  };
  // Of a collective whose centre tells only a start or only an end: the others tell the same, and
  // nothing of each other, or it is the root itself. The first that tells the other of the two is
  // the root, or has the root for its centre: in either way who is left can be compared.
  struct Rooted {
    Centre partner;               // the first whose times say something with the centre's
    std::vector<Centre> waiting;  // for it
  };
  // Beyond these none is kept waiting: of a root that never comes they would fill the memory.
  static constexpr std::size_t most_waiting = std::size_t{1} << 21;  // 50 MB

  std::size_t line_of(const CollectiveKey& key);
  std::size_t find_line(const CollectiveKey& key);
  void sort_touched();
  void compare(std::size_t line, std::uint32_t node);
  void compare_rooted(std::size_t line, const Centre& own);
  void add_pair(std::size_t line, const Centre& own, const Centre& other);
  void let_go_of_half();

  ClockLimits limits_;
  std::size_t most_;
  std::uint64_t sieve_ = 0;  // a key stays if its hash has none of these bits
  // By line. Apart, for adding looks at the keys alone: of so many, memory is what takes time.
  std::vector<CollectiveKey> keys_;
  std::vector<Centre> centres_;
  std::vector<CollectiveTimes> now_;                  // of the node that is being added
  std::unordered_map<std::uint32_t, Rooted> rooted_;  // by line
  std::size_t waiting_ = 0;
  std::vector<std::uint32_t> touched_;
  std::int64_t last_ns_ = std::numeric_limits<std::int64_t>::min();  // of what was touched
  bool is_sorted_ = true;                                            // what was touched, by time
  std::unordered_map<CollectiveKey, std::uint32_t, HashOfCollective> index_;
  std::size_t expected_ = 0;  // ranks name collectives in one order: mostly it is the next line
  std::map<std::pair<std::uint32_t, std::uint32_t>, ClockPair> pairs_;  // by (own, other) node
  ClockPair* pair_ = nullptr;  // the last one: mostly it is the next one too
  std::pair<std::uint32_t, std::uint32_t> pair_nodes_;
  std::uint64_t inconsistent_ = 0;
};

}  // namespace traceagent::tools
