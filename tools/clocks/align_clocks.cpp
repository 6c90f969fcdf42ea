#include "tools/clocks/align_clocks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "tools/clocks/barrier_pairs.hpp"
#include "tools/clocks/clock_agreement.hpp"
#include "tools/clocks/clock_nodes.hpp"
#include "tools/clocks/clock_report.hpp"
#include "tools/clocks/clock_words.hpp"
#include "tools/clocks/collective_table.hpp"
#include "tools/clocks/merged_clock.hpp"
#include "tools/clocks/reused_collectives.hpp"
#include "tools/trace_files.hpp"

namespace traceagent::tools {

namespace {

// Of comparing marks: some tenths of a second.
constexpr std::uint64_t most_work = 20'000'000;
constexpr std::uint64_t most_work_of_pair = 1'000'000;

constexpr char remedy[] = "are they of one run? --align none leaves the clocks as they are";

std::string several_clocks_of(const ClockNode& node) {
  return node.name +
         ": an earlier merge left several clocks as far apart as they are: merge the files "
         "that it was made of";
}

// Within what a file of ours or anybody's may hold: a damaged one's times are any numbers.
CollectiveTimes widened(CollectiveTimes times, std::int64_t by_ns) {
  constexpr std::int64_t most_ns = 4'000'000'000'000'000'000;
  const auto is_sound = [](std::int64_t ns) { return ns > -most_ns && ns < most_ns; };
  if (is_sound(times.start_ns)) times.start_ns -= by_ns;
  if (is_sound(times.end_ns)) times.end_ns += by_ns;
  return times;
}

class Aligner {
 public:
  Aligner(std::vector<ClockNode> nodes, const AlignOptions& options, ProgressBar& bar)
      : nodes_(std::move(nodes)),
        options_(options),
        limits_{.drift = options.max_drift_ppm * 1e-6},
        bar_(bar) {}

  ClockAlignment run();

 private:
  std::vector<ClockSpans> find_edges();
  void find_reason(bool has_all);
  [[nodiscard]] bool uses_collectives() const { return options_.align != Align::barrier; }
  [[nodiscard]] bool uses_barrier(const ClockNode& node) const;
  void leave_out_unmarked();
  bool read(ClockNode& node, std::size_t place, ReusedCollectives& reused);
  void read_all();
  [[nodiscard]] bool are_doubtful(std::uint32_t own_node, std::uint32_t other_node) const;
  std::vector<std::uint32_t> add_same_clock_edges();
  [[nodiscard]] std::vector<const ClockNode*> nodes_on_clock_of(std::uint32_t first) const;
  [[nodiscard]] BarrierClock barriers_on(std::uint32_t first) const;
  void add_barrier_edges(const std::vector<std::uint32_t>& firsts);
  void add_collective_edges(const std::vector<ClockSpans>& spans);
  void leave_out_reused(CollectiveTable::Solved& solved) const;
  void leave_out_denied_barriers();
  [[nodiscard]] std::vector<ClockEdge> by_barriers() const;
  void take_back_denied(ClockRoutes& routes);
  void refuse(const CollectiveTable::Solved& solved);
  void add_late_ends(std::vector<std::optional<ClockRoute>>& routes) const;
  [[nodiscard]] bool has_marks() const;
  [[nodiscard]] std::string marks_in_words() const;

  std::vector<ClockNode> nodes_;  // those that may be aligned; the first is the reference
  std::vector<ClockNode> others_;
  AlignOptions options_;
  ClockLimits limits_;
  ProgressBar& bar_;
  CollectiveTable table_{limits_};
  std::vector<ClockEdge> edges_;
  std::vector<EdgeFacts> facts_;
  std::uint64_t reused_ = 0;  // collectives of two runs that have one number
  std::vector<BarrierClock> barrier_clocks_;
  std::size_t runs_ = 1;                   // of the job, as far as Composer's barriers show
  std::vector<ClockEdge> by_collectives_;  // all that were solved
  std::vector<std::pair<std::uint32_t, std::uint32_t>> contradictory_;  // of nodes
  std::string reason_;
};

bool Aligner::uses_barrier(const ClockNode& node) const {
  return !node.barriers.empty() && options_.align != Align::collectives;
}

void Aligner::leave_out_unmarked() {
  std::set<std::string> marked;
  for (const ClockNode& node : nodes_) {
    if (uses_barrier(node) && !node.clock.empty()) marked.insert(node.clock);
  }
  const auto first_other =
      std::stable_partition(nodes_.begin(), nodes_.end(), [&](const ClockNode& node) {
        return uses_collectives() || uses_barrier(node) || marked.contains(node.clock);
      });
  others_.assign(std::make_move_iterator(first_other), std::make_move_iterator(nodes_.end()));
  nodes_.erase(first_other, nodes_.end());
}

// False: it holds nothing to align it by. Where an earlier merge may have left its ranks' times off
// from each other, each tells of their clock that much less; where it left several clocks, nothing.
bool Aligner::read(ClockNode& node, std::size_t place, ReusedCollectives& reused) {
  bool has_any = uses_barrier(node);
  const bool tells = uses_collectives() && !node.has_several_clocks;
  const std::int64_t off_ns = node.earlier_bound_ns.value_or(0);
  const auto visit = [&](const CollectiveKey& key, const CollectiveTimes& times) {
    if (!tells) return;
    table_.add(key, widened(times, off_ns));
    reused.add(place, key);
    has_any = true;
  };
  read_events(node, visit, [this](std::uint64_t more) { bar_.add(more); });
  return has_any;
}

void Aligner::read_all() {
  std::uint64_t bytes = 0;
  for (const ClockNode& node : nodes_) {
    bytes += bytes_of(node.paths);
  }
  bar_.expect(bytes);
  std::map<std::string, int> nodes_of;
  for (const ClockNode& node : nodes_) {
    ++nodes_of[node.clock];
  }
  std::vector<ClockNode> found;
  ReusedCollectives reused(nodes_);
  for (std::size_t place = 0; place < nodes_.size(); ++place) {
    ClockNode& node = nodes_[place];
    const bool has_clock_of_another = !node.clock.empty() && nodes_of[node.clock] > 1;
    if (read(node, place, reused) || has_clock_of_another) {
      table_.finish_node(static_cast<std::uint32_t>(found.size()));
      found.push_back(std::move(node));
    } else {
      others_.push_back(std::move(node));
    }
  }
  nodes_ = std::move(found);
  reused_ = reused.count();
  bar_.clear();
}

// Nobody says whether the files of unknown nodes are of one, or of one run. Where they are of one,
// with one exact clock, they would be moved apart by some microseconds for nothing; and those of
// another run must not take away what nodes know of each other.
bool Aligner::are_doubtful(std::uint32_t own_node, std::uint32_t other_node) const {
  return options_.align == Align::automatic &&
         !(nodes_[own_node].is_of_known_node && nodes_[other_node].is_of_known_node);
}

// All files of one clock have it whether a merge has corrected them or not: what was brought to it
// runs like it. Each with the first; returns all first ones.
std::vector<std::uint32_t> Aligner::add_same_clock_edges() {
  std::vector<std::uint32_t> firsts;
  std::map<std::string_view, std::uint32_t> first_of;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const std::string& clock = nodes_[i].clock;
    const auto [first, is_new] = first_of.try_emplace(clock, i);
    if (is_new || clock.empty()) {
      firsts.push_back(i);
      continue;
    }
    edges_.push_back({.from = i,
                      .to = first->second,
                      .difference = ClockDifference({{.at_ns = 0, .offset_ns = 0, .bound_ns = 0}},
                                                    {.drift = 0, .wander_per_second = 0})});
    facts_.push_back({.method = "the same clock"});
  }
  return firsts;
}

std::vector<const ClockNode*> Aligner::nodes_on_clock_of(std::uint32_t first) const {
  std::vector<const ClockNode*> found;
  for (const ClockNode& node : nodes_) {
    if (&node == &nodes_[first] || (!node.clock.empty() && node.clock == nodes_[first].clock)) {
      found.push_back(&node);
    }
  }
  return found;
}

// Of marks in times that an earlier merge was unsure of only those whose batch no other file of
// that clock has.
BarrierClock Aligner::barriers_on(std::uint32_t first) const {
  std::vector<BarrierMark> marks, unsure;
  for (const ClockNode* const node : nodes_on_clock_of(first)) {
    std::vector<BarrierMark>& kept = node->is_unsure ? unsure : marks;
    kept.insert(kept.end(), node->barriers.begin(), node->barriers.end());
  }
  std::set<std::string> known;
  for (const BarrierMark& mark : marks) known.insert(mark.batch);
  std::erase_if(unsure, [&](const BarrierMark& mark) { return known.contains(mark.batch); });
  marks.insert(marks.end(), unsure.begin(), unsure.end());
  return {first, PassedBarriers(std::move(marks)), !unsure.empty()};
}

// Beyond a barrier nothing is known of the drift but its limit.
void Aligner::add_barrier_edges(const std::vector<std::uint32_t>& firsts) {
  std::uint64_t work_left = most_work;
  std::vector<std::size_t> groups;  // those with one number have met
  for (const std::uint32_t first : firsts) {
    BarrierClock clock = barriers_on(first);
    if (clock.barriers.marks.empty()) continue;
    runs_ = std::max(runs_, runs_of(clock.barriers));
    groups.push_back(groups.size());
    barrier_clocks_.push_back(std::move(clock));
  }
  runs_ = std::max(runs_, runs_of(nodes_));
  // Mostly all meet the first one; the others only who has not been met through it.
  for (std::size_t own = 0; own < barrier_clocks_.size(); ++own) {
    for (std::size_t i = 0; i < own && work_left > 0; ++i) {
      if (groups[i] == groups[own]) continue;
      // So that one clock that is set again and again leaves some for the others.
      std::uint64_t of_pair = std::min(work_left, most_work_of_pair);
      const std::uint64_t before = of_pair;
      const BarrierClock &from = barrier_clocks_[own], &to = barrier_clocks_[i];
      const auto knots = pair_barriers(from.barriers, to.barriers, runs_, limits_, of_pair);
      work_left -= before - of_pair;
      if (knots.empty()) continue;
      edges_.push_back(
          {.from = from.node, .to = to.node, .difference = ClockDifference(knots, limits_)});
      facts_.push_back({.method = "barrier",
                        .from = from.node,
                        .to = to.node,
                        .is_unsure = from.is_unsure || to.is_unsure});
      std::replace(groups.begin(), groups.end(), std::size_t{groups[i]}, std::size_t{groups[own]});
    }
  }
  if (work_left == 0 && reason_.empty()) {
    reason_ = "there are too many of Composer's barriers to compare all: merge fewer files at once";
  }
}

// Of others' files nobody knows then which are of one run: only those of ours, whose numbers no two
// runs have, are compared.
void Aligner::leave_out_reused(CollectiveTable::Solved& solved) const {
  if (reused_ == 0) return;
  CollectiveTable::Solved kept;
  for (std::size_t i = 0; i < solved.edges.size(); ++i) {
    if (!nodes_[solved.edges[i].from].is_ours || !nodes_[solved.edges[i].to].is_ours) continue;
    kept.edges.push_back(solved.edges[i]);
    kept.collectives.push_back(solved.collectives[i]);
    kept.allow_equal_clocks.push_back(solved.allow_equal_clocks[i]);
  }
  solved = std::move(kept);
}

void Aligner::add_collective_edges(const std::vector<ClockSpans>& spans) {
  CollectiveTable::Solved solved = table_.solve(
      spans, [this](std::uint32_t own, std::uint32_t other) { return are_doubtful(own, other); });
  leave_out_reused(solved);
  if (solved.is_contradictory) {
    refuse(solved);
  }
  by_collectives_ = solved.edges;
  contradictory_ = solved.contradictory;
  for (std::size_t i = 0; i < solved.edges.size(); ++i) {
    ClockEdge edge = solved.edges[i];
    const bool is_doubtful = are_doubtful(edge.from, edge.to);
    if (is_doubtful && solved.is_contradictory) {
      continue;
    }
    if (is_doubtful && solved.allow_equal_clocks[i]) {
      edge.difference = edge.difference.uncorrected();
    }
    edges_.push_back(std::move(edge));
    facts_.push_back({.method = "collectives",
                      .collectives = solved.collectives[i],
                      .from = solved.edges[i].from,
                      .to = solved.edges[i].to});
  }
}

// A barrier shows no clock that is set behind it, collectives do. Where they contradict each other
// a clock was set as well, and nobody knows whose.
void Aligner::leave_out_denied_barriers() {
  std::vector<ClockEdge> edges;
  std::vector<EdgeFacts> facts;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    const bool is_barrier = facts_[i].method == "barrier";
    const ClockNode &from = nodes_[edges_[i].from], &to = nodes_[edges_[i].to];
    const auto denies = [&](const ClockEdge& edge) {
      return deny_each_other(edges_[i], edge, nodes_);
    };
    const bool is_denied =
        is_barrier && std::any_of(by_collectives_.begin(), by_collectives_.end(), denies);
    if (is_denied && reason_.empty()) {
      reason_ = "Composer's barriers and the collectives of " + from.name + " and " + to.name +
                " contradict each other: a clock was set; these barriers are not used";
    }
    const bool is_doubted =
        is_barrier && !contradictory_.empty() && from.has_collectives && to.has_collectives;
    if (is_denied || is_doubted) continue;
    edges.push_back(std::move(edges_[i]));
    facts.push_back(std::move(facts_[i]));
  }
  edges_ = std::move(edges);
  facts_ = std::move(facts);
}

std::vector<ClockEdge> Aligner::by_barriers() const {
  std::vector<ClockEdge> found;
  for (std::size_t i = 0; i < edges_.size(); ++i) {
    if (facts_[i].method == "barrier") found.push_back(edges_[i]);
  }
  return found;
}

void Aligner::take_back_denied(ClockRoutes& routes) {
  Disagreement found;
  check_barriers(barrier_clocks_, runs_, nodes_, edges_, routes, found);
  check_differences("the collectives", by_collectives_, nodes_, edges_, routes, found);
  check_differences("Composer's barriers", by_barriers(), nodes_, edges_, routes, found);
  check_contradictory(contradictory_, by_collectives_, nodes_, edges_, routes, found);
  take_back(found.nodes, edges_, routes);
  if (reason_.empty()) reason_ = found.reason;
}

bool Aligner::has_marks() const {
  const auto uses = [this](const ClockNode& node) { return uses_barrier(node); };
  return std::any_of(nodes_.begin(), nodes_.end(), uses) ||
         std::any_of(others_.begin(), others_.end(), uses);
}

std::string Aligner::marks_in_words() const {
  return "not all files hold marks of the same of Composer's barriers (with a batch in common, or "
         "as many of each where none is told), or these fit together in more than one way, or not "
         "at all "
         "as clocks drift (--max-drift, " +
         number_in_words(options_.max_drift_ppm) + " ppm), nor have all collectives in common";
}

void Aligner::refuse(const CollectiveTable::Solved& solved) {
  const auto name = [](const CollectiveKey& key) {
    char text[64];
    std::snprintf(text, sizeof text, "collective %llu of communicator 0x%llx",
                  static_cast<unsigned long long>(key.sequence),
                  static_cast<unsigned long long>(key.communicator));
    return std::string(text);
  };
  reason_ = "the collectives of " + nodes_[solved.other_node].name + " and " +
            nodes_[solved.own_node].name + " contradict each other by " +
            duration_in_words(solved.contradiction.by_ns) + " at any drift up to " +
            number_in_words(options_.max_drift_ppm) + " ppm, most of all " +
            name(solved.contradiction.lower) + " and " + name(solved.contradiction.upper);
}

// The times of each node that take part; empty where there are none to compare.
std::vector<ClockSpans> Aligner::find_edges() {
  std::vector<ClockSpans> spans;
  if (nodes_.size() >= 2) read_all();
  if (nodes_.size() < 2) return spans;
  for (const ClockNode& node : nodes_) spans.push_back(node.spans);
  const std::vector<std::uint32_t> firsts = add_same_clock_edges();
  if (options_.align != Align::collectives) add_barrier_edges(firsts);
  add_collective_edges(spans);
  leave_out_denied_barriers();
  return spans;
}

// The first that applies; what was found before stays. `has_all`: the edges reach every node.
void Aligner::find_reason(bool has_all) {
  for (const std::vector<ClockNode>* const some : {&nodes_, &others_}) {
    for (const ClockNode& node : *some) {
      if (node.has_several_clocks && reason_.empty()) reason_ = several_clocks_of(node);
    }
  }
  if (reused_ > 0) {
    reason_ = std::to_string(reused_) +
              " collectives have times of one rank on two clocks that are no one collective's: the "
              "files may be of two runs: merge each run by itself";
  }
  if (!reason_.empty() || has_all) return;
  if (table_.inconsistent() > 0) {
    reason_ =
        std::to_string(table_.inconsistent()) +
        " collectives have times on one node that are no one collective's: the files may be of "
        "two runs";
  } else if (has_marks()) {
    reason_ = marks_in_words();
  } else if (options_.align == Align::barrier) {
    reason_ = "not all files hold marks of Composer's barriers";
  } else {
    reason_ = "not all nodes have collectives in common whose times on the GPU are known";
  }
}

// The bound is that of all times at which a node has events. Where a slice ends far from all of
// them the drift has gone on for as long.
void Aligner::add_late_ends(std::vector<std::optional<ClockRoute>>& routes) const {
  for (std::size_t i = 1; i < routes.size(); ++i) {
    if (!routes[i] || routes[i]->correction.is_none()) continue;
    for (const ClockSpan& end : nodes_[i].late_ends) {
      const auto is_told = [&end](const ClockUnsure& each) {
        return each.span.from_ns <= end.from_ns && end.until_ns <= each.span.until_ns;
      };
      if (std::any_of(routes[i]->unsure.begin(), routes[i]->unsure.end(), is_told)) continue;
      routes[i]->unsure.push_back({.span = end, .by_ns = std::numeric_limits<double>::infinity()});
    }
  }
}

ClockAlignment Aligner::run() {
  leave_out_unmarked();
  const std::vector<ClockSpans> spans = find_edges();
  ClockReport report;
  report.nodes = &nodes_;
  report.others = &others_;
  report.edges = &facts_;
  report.collectives = table_.collectives();
  report.inconsistent = table_.inconsistent() + reused_;
  report.one_of = table_.one_of();
  if (!spans.empty()) {
    report.routes = clock_routes(spans, edges_, limits_);
    take_back_denied(report.routes);
    add_late_ends(report.routes);
  }
  find_reason(report.has_all());
  report.reason = reason_;
  report.limits = limits_;
  ClockAlignment alignment = aligned(report);
  if (!reason_.empty() && options_.align != Align::automatic) {
    alignment.problem = "clocks cannot be aligned: " + reason_ + ": " + remedy;
  }
  return alignment;
}

ClockAlignment left_as_they_are(const std::vector<ClockNode>& nodes) {
  const std::vector<ClockNode> none;
  ClockReport report;
  report.nodes = &none;
  report.others = &nodes;
  report.reason = "as they are, as --align none asks: how far off is not known";
  ClockAlignment alignment = aligned(report);
  alignment.summary = {"clocks: " + report.reason};
  return alignment;
}

// All files are of one clock, but what a merge has left of that.
void keep_clock(const ClockNode& node, ClockAlignment& alignment) {
  MergedClock clock;
  clock.has_several = node.has_several_clocks;
  clock.of = node.clock;
  clock.bound_ns = node.earlier_bound_ns;
  clock.is_unsure = node.is_unsure;
  alignment.clock = clock.text();
  const std::string left = "as an earlier merge left them: ";
  if (clock.has_several) {
    alignment.summary = {"clocks: of several, " + left + "how far off is not known"};
  } else if (!clock.bound_ns) {
    alignment.summary = {"clocks: " + left + "how far off is not known"};
  } else if (*clock.bound_ns > 0 || clock.is_unsure) {
    alignment.summary = {"clocks: " + left + "right within " +
                         duration_in_words(static_cast<double>(*clock.bound_ns)) +
                         (clock.is_unsure ? ", but where it was unsure" : "")};
  }
}

}  // namespace

ClockAlignment align_clocks(const std::vector<std::string>& paths, const AlignOptions& options,
                            ProgressBar& bar) {
  std::vector<ClockNode> nodes = clock_nodes(paths);
  if (nodes.size() < 2) {
    ClockAlignment alignment;
    if (!nodes.empty() && nodes.front().is_merged) keep_clock(nodes.front(), alignment);
    const bool is_asked_for =
        options.align == Align::collectives || options.align == Align::barrier;
    if (is_asked_for && !nodes.empty() && nodes.front().has_several_clocks) {
      alignment.problem = "clocks cannot be aligned: " + several_clocks_of(nodes.front());
    }
    return alignment;
  }
  return options.align == Align::none ? left_as_they_are(nodes)
                                      : Aligner(std::move(nodes), options, bar).run();
}

}  // namespace traceagent::tools
