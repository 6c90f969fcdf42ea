#include "tools/clocks/clock_nodes.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "agent/trace/json_scan.hpp"
#include "agent/trace/merge_input.hpp"
#include "tools/clocks/merged_clock.hpp"

namespace traceagent::tools {

namespace {

using trace::TraceLine;
using trace::TraceReader;

struct Placed {
  std::string key;
  std::string name;
  std::string clock;  // ClockNode's
};

std::string_view told_clock_of(const trace::TraceHeader& header) {
  return trace::member(header.distributed_info, "clock").value_or("");
}

// What earlier merges did to its times: with these they are of another clock than without, and
// each merge's is one of its own.
std::string corrections_of(const trace::TraceHeader& header) {
  return std::string(trace::member(header.distributed_info, "clock_corrections").value_or(""));
}

Placed with_corrections(Placed placed, const trace::TraceHeader& header) {
  const std::string corrections = corrections_of(header);
  const std::string_view told = told_clock_of(header);
  const auto clock = merged_clock(told);
  // Without a word of the clock that it was moved to nobody knows it.
  placed.clock = clock ? clock->of : corrections.empty() ? placed.key : "";
  if (!corrections.empty() || !told.empty()) {
    placed.key += " " + corrections + std::string(told);
    placed.name += corrections.empty() ? " (merged)" : " (corrected)";
  }
  return placed;
}

void take_told(const trace::TraceHeader& header, ClockNode& node) {
  const auto told = merged_clock(told_clock_of(header));
  node.is_merged = node.is_merged || told.has_value();
  node.has_several_clocks = node.has_several_clocks || (told && told->has_several);
  node.is_unsure = node.is_unsure || (told && told->is_unsure);
  // Times that were moved without a word of how well.
  const bool is_unknown = told ? !told->bound_ns : !corrections_of(header).empty();
  if (is_unknown) node.earlier_bound_ns.reset();
  if (told && told->bound_ns && node.earlier_bound_ns) {
    node.earlier_bound_ns = std::max(*node.earlier_bound_ns, *told->bound_ns);
  }
}

// Of a file of ours.
std::optional<Placed> own_node(const trace::TraceHeader& header) {
  const auto run = trace::string_member(header.distributed_info, "run_key");
  if (!run || run->empty()) {
    return std::nullopt;
  }
  const std::string node =
      std::to_string(trace::integer_member(header.distributed_info, "node_rank").value_or(0));
  std::string key = "node " + node + " of " + std::string(*run);
  if (const auto host = trace::string_member(header.distributed_info, "host")) {
    key += " on " + std::string(*host);
  }
  return with_corrections({key, "node " + node, ""}, header);
}

// Of a file of others' that says its host.
std::optional<Placed> host_of(const trace::TraceHeader& header) {
  const auto host = trace::string_member(header.distributed_info, "host");
  if (!host || own_node(header)) {
    return std::nullopt;
  }
  return with_corrections({"host " + std::string(*host), std::string(*host), ""}, header);
}

void find_marks(ClockNode& node) {
  for (const std::string& path : node.paths) {
    std::vector<BarrierMark> found = barriers_of(path);
    std::move(found.begin(), found.end(), std::back_inserter(node.barriers));
  }
}

std::string name_of_rank(std::int64_t rank) { return "rank " + std::to_string(rank); }

// Of a file that says nothing of it.
Placed rank_alone(const trace::TraceHeader& header) {
  const std::string name = name_of_rank(header.rank);
  return with_corrections({name, name, ""}, header);
}

class Nodes {
 public:
  void add(const trace::MergeInput& input, const Placed& placed, bool is_known, bool is_ours) {
    const auto [found, is_new] = by_key_.try_emplace(placed.key, nodes_.size());
    if (is_new) {
      nodes_.emplace_back();
      nodes_.back().name = placed.name;
      nodes_.back().is_of_known_node = is_known;
      nodes_.back().clock = placed.clock;
      nodes_.back().is_ours = is_ours;
      nodes_.back().corrections = corrections_of(input.header);
    }
    ClockNode& node = nodes_[found->second];
    take_told(input.header, node);
    node.paths.push_back(input.report.path);
    node.sources.merge(trace::identities_of(input));
    node.ranks.merge(ranks_of(input.header));
  }

  // Where files of this rank are; nothing: nobody has said, or a merge has taken its times to
  // another clock.
  [[nodiscard]] std::optional<Placed> of_rank(const trace::TraceHeader& header,
                                              bool by_ours_alone) const {
    if (!told_clock_of(header).empty()) return std::nullopt;
    const std::string corrections = corrections_of(header);
    for (const auto& [key, index] : by_key_) {
      const ClockNode& node = nodes_[index];
      if ((by_ours_alone ? node.is_ours : node.is_of_known_node) && !node.is_merged &&
          node.ranks.contains(header.rank) && node.corrections == corrections) {
        return Placed{key, node.name, node.clock};
      }
    }
    return std::nullopt;
  }

  std::vector<ClockNode> take() {
    std::stable_sort(nodes_.begin(), nodes_.end(), [](const ClockNode& a, const ClockNode& b) {
      return *a.ranks.begin() < *b.ranks.begin();
    });
    resolve_clocks();
    // A single clock needs none of them.
    if (nodes_.size() > 1) {
      for (ClockNode& node : nodes_) {
        find_marks(node);
      }
    }
    return std::move(nodes_);
  }

 private:
  // A merge that knew no nodes has named the clock of a rank, whose node files here may tell.
  void resolve_clocks() {
    std::map<std::string, std::string> clock_of_rank;  // empty: of several
    for (const ClockNode& node : nodes_) {
      if (!node.is_of_known_node || node.is_merged || !node.corrections.empty()) continue;
      for (const std::int64_t rank : node.ranks) {
        const auto [known, is_new] = clock_of_rank.try_emplace(name_of_rank(rank), node.clock);
        if (!is_new && known->second != node.clock) known->second.clear();
      }
    }
    for (ClockNode& node : nodes_) {
      const auto clock = clock_of_rank.find(node.clock);
      if (clock != clock_of_rank.end() && !clock->second.empty()) node.clock = clock->second;
    }
  }

  std::map<std::string, std::size_t> by_key_;
  std::vector<ClockNode> nodes_;
};

// Wraps rather than overflows: a damaged file must not be undefined behaviour.
std::int64_t sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

std::int64_t less(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b));
}

CollectiveTimes times_of(const CollectiveLine& line, std::int64_t at_ns) {
  CollectiveTimes times;
  if (line.tells_start) {
    times.start_ns = less(at_ns, line.error_ns);
  }
  if (line.tells_end) {
    times.end_ns = sum(sum(at_ns, line.duration_ns), line.error_ns);
  }
  return times;
}

// Cycles are apart from each other: nothing needs to be right in between.
constexpr std::int64_t least_pause_ns = 1'000'000'000;

void add_time(std::int64_t from_ns, std::int64_t until_ns, std::size_t first, ClockSpans& spans) {
  if (spans.size() == first || less(from_ns, spans.back().until_ns) > least_pause_ns) {
    spans.push_back({from_ns, until_ns});
  }
  spans.back().from_ns = std::min(spans.back().from_ns, from_ns);
  spans.back().until_ns = std::max(spans.back().until_ns, until_ns);
}

void join_overlapping(ClockSpans& spans) {
  std::sort(spans.begin(), spans.end(),
            [](const ClockSpan& a, const ClockSpan& b) { return a.from_ns < b.from_ns; });
  ClockSpans joined;
  for (const ClockSpan& span : spans) {
    add_time(span.from_ns, span.until_ns, 0, joined);
  }
  spans = std::move(joined);
}

// What the import of a file that others wrote says of its times (import/run_file.hpp): then it has
// no collectives, and need not be read. False: it says nothing.
bool add_quiet_times(const trace::TraceHeader& header, ClockSpans& spans) {
  std::vector<std::int64_t> times;
  trace::for_each_element(
      trace::member(header.distributed_info, "quiet_ns").value_or(""), [&](std::string_view time) {
        times.push_back(sum(header.base_ns, trace::parse_integer(time).value_or(0)));
      });
  const std::size_t first = spans.size();
  for (std::size_t i = 0; i + 1 < times.size(); i += 2) {
    add_time(times[i], times[i + 1], first, spans);
  }
  return !times.empty();
}

// Of a slice, as our own files and those of an import say it.
std::int64_t duration_of(const TraceLine& line) {
  constexpr std::string_view prefix = ",\"dur\":";
  if (!line.after_ts.starts_with(prefix)) return 0;
  double us = 0;
  const char* const begin = line.after_ts.data() + prefix.size();
  std::from_chars(begin, line.after_ts.data() + line.after_ts.size(), us);
  constexpr double most_us = 1e12;
  return us > 0 && us < most_us ? std::llround(us * 1000.0) : 0;
}

// Of the spans from `first` on.
void leave_out_within(std::size_t first, const ClockSpans& spans, ClockSpans& ends) {
  std::erase_if(ends, [&](const ClockSpan& end) {
    return std::any_of(spans.begin() + static_cast<std::ptrdiff_t>(first), spans.end(),
                       [&end](const ClockSpan& span) {
                         return span.from_ns <= end.from_ns && end.until_ns <= span.until_ns;
                       });
  });
}

// The times that one file holds.
class FileTimes {
 public:
  explicit FileTimes(ClockSpans& spans) : spans_(spans), first_(spans.size()) {}

  void add(std::int64_t from_ns, std::int64_t lasted_ns) {
    const bool is_long = lasted_ns > longest_within_ns;
    const std::int64_t until_ns = sum(from_ns, lasted_ns);
    add_time(from_ns, is_long ? from_ns : until_ns, first_, spans_);
    if (!is_long || until_ns <= spans_.back().until_ns) return;
    late_ends_.push_back({until_ns, until_ns});
    if (late_ends_.size() < most_ends_) return;
    leave_out_met();
    most_ends_ = std::max(most_ends_, 2 * late_ends_.size());  // those that nothing meets stay
  }
  ClockSpans late_ends() {
    leave_out_met();
    return std::move(late_ends_);
  }

 private:
  // Of what is shorter the drift makes nothing that matters.
  static constexpr std::int64_t longest_within_ns = 1'000'000;

  // Other events were there by then.
  void leave_out_met() { leave_out_within(first_, spans_, late_ends_); }

  ClockSpans& spans_;
  const std::size_t first_;
  ClockSpans late_ends_;
  std::size_t most_ends_ = 4096;  // before those that other events met are left out
};

std::int64_t host_error_of(std::string_view metadata) {
  const auto clock = trace::member(metadata, "clock").value_or("");
  const auto text = trace::member(clock, "error_ns").value_or("");
  double error_ns = 0;
  std::from_chars(text.data(), text.data() + text.size(), error_ns);
  constexpr double most_ns = 1e15;
  return error_ns > 0 && error_ns < most_ns ? static_cast<std::int64_t>(std::ceil(error_ns)) : 0;
}

// The largest of a file's, which may be merged of several. What a merge has said of its times on a
// clock that it has moved them to allows for it.
void take_host_error(const TraceReader& reader, ClockNode& node) {
  if (!told_clock_of(reader.header()).empty() || !own_node(reader.header())) return;
  const std::string_view metadata = reader.footer().metadata;
  node.host_error_ns = std::max(node.host_error_ns, host_error_of(metadata));
  trace::for_each_element(trace::member(metadata, "merged").value_or(""),
                          [&](std::string_view each) {
                            node.host_error_ns = std::max(node.host_error_ns, host_error_of(each));
                          });
}

void read_file(const std::string& path, ClockNode& node,
               const std::function<void(const CollectiveKey&, const CollectiveTimes&)>& visit,
               const std::function<void(std::uint64_t bytes)>& on_read) {
  constexpr std::uint64_t lines_between_reports = 1U << 16;
  TraceReader reader;
  if (!reader.open(path)) {
    return;
  }
  if (add_quiet_times(reader.header(), node.spans)) {
    on_read(reader.file_bytes());
    return;
  }
  FileTimes times(node.spans);
  std::uint64_t lines = 0;
  std::uint64_t told_bytes = 0;
  const auto tell = [&] {
    on_read(reader.file_bytes_read() - std::exchange(told_bytes, reader.file_bytes_read()));
  };
  TraceLine line;
  while ((line = reader.next()).kind != TraceLine::Kind::end) {
    if (++lines % lines_between_reports == 0) {
      tell();
    }
    if (line.kind == TraceLine::Kind::metadata) {
      continue;
    }
    const std::int64_t at_ns = sum(reader.header().base_ns, line.ts_ns);
    if (const auto collective = collective_line(line.text)) {
      visit(collective->key, times_of(*collective, at_ns));
    }
    times.add(at_ns, duration_of(line));
  }
  const ClockSpans late = times.late_ends();
  node.late_ends.insert(node.late_ends.end(), late.begin(), late.end());
  take_host_error(reader, node);
  tell();
}

}  // namespace

std::vector<ClockNode> clock_nodes(const std::vector<std::string>& paths) {
  const std::vector<trace::MergeInput> inputs = trace::scan_inputs(paths, nullptr);
  Nodes nodes;
  for (const trace::MergeInput& input : inputs) {
    if (const auto placed = own_node(input.header); placed && input.is_used()) {
      nodes.add(input, *placed, true, true);
    }
  }
  for (const trace::MergeInput& input : inputs) {
    if (const auto host = host_of(input.header); host && input.is_used()) {
      nodes.add(input, nodes.of_rank(input.header, true).value_or(*host), true, false);
    }
  }
  for (const trace::MergeInput& input : inputs) {
    if (!own_node(input.header) && !host_of(input.header) && input.is_used()) {
      nodes.add(input, nodes.of_rank(input.header, false).value_or(rank_alone(input.header)), false,
                false);
    }
  }
  return nodes.take();
}

std::size_t runs_of(const std::vector<ClockNode>& nodes) {
  std::map<std::int64_t, std::vector<const ClockNode*>> nodes_of;
  for (const ClockNode& node : nodes) {
    if (node.barriers.empty()) continue;
    for (const std::int64_t rank : node.ranks) nodes_of[rank].push_back(&node);
  }
  std::set<std::vector<const ClockNode*>> different;  // mostly many ranks are in the same
  for (auto& [rank, holders] : nodes_of) different.insert(std::move(holders));
  for (const std::vector<const ClockNode*>& holders : different) {
    std::map<std::string_view, const ClockNode*> first_with;
    for (const ClockNode* const node : holders) {
      for (const BarrierMark& mark : node->barriers) {
        if (mark.batch.empty()) continue;
        const ClockNode& first = *first_with.try_emplace(mark.batch, node).first->second;
        if (&first != node && (first.clock.empty() || first.clock != node->clock)) return 2;
      }
    }
  }
  return 1;
}

void read_events(ClockNode& node,
                 const std::function<void(const CollectiveKey&, const CollectiveTimes&)>& visit,
                 const std::function<void(std::uint64_t bytes)>& on_read) {
  const auto see = [&](const CollectiveKey& key, const CollectiveTimes& times) {
    node.has_collectives = true;
    visit(key, times);
  };
  for (const std::string& path : node.paths) {
    read_file(path, node, see, on_read);
  }
  // What is told of its times is true of its marks too: a later merge goes by them.
  for (const BarrierMark& mark : node.barriers) node.spans.push_back({mark.at_ns, mark.at_ns});
  join_overlapping(node.spans);
  leave_out_within(0, node.spans, node.late_ends);
  join_overlapping(node.late_ends);
}

}  // namespace traceagent::tools
