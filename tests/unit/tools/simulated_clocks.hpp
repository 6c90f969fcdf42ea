#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "tools/clocks/collective_table.hpp"

namespace traceagent::tools {

constexpr std::int64_t simulation_start_ns = 1'700'000'000'000'000'000;

struct SimulatedNode {
  std::int64_t offset_ns = 0;  // at the start
  double drift = 0;
  double wander = 0;  // the drift goes up and down by so much, as the temperature does
  double wander_period_ns = 1;
  double wander_phase = 0;
  std::int64_t set_at_ns = 0;  // true time at which somebody sets it, by
  std::int64_t set_by_ns = 0;

  [[nodiscard]] std::int64_t at(std::int64_t true_ns) const {
    const auto since = static_cast<double>(true_ns - simulation_start_ns);
    const double turns = 2 * 3.14159265358979323846 / wander_period_ns;
    const double wandered =
        wander / turns * (std::cos(wander_phase) - std::cos(turns * since + wander_phase));
    const std::int64_t set_ns = set_by_ns != 0 && true_ns >= set_at_ns ? set_by_ns : 0;
    return true_ns + offset_ns + std::llround(drift * since + wandered) + set_ns;
  }
};

struct SimulatedSettings {
  unsigned seed = 0;
  unsigned collectives = 1000;
  unsigned node_count = 8;
  unsigned ranks_per_node = 4;
  bool neighbours_only = false;       // each collective is of two neighbouring nodes
  bool one_way = false;               // broadcasts and reduces, of changing roots
  std::optional<unsigned> root = {};  // of all these
  double seconds = 100;
  bool wandering = false;  // drifts change by some ten ppm in hours
  unsigned per_burst = 1;  // collectives come so many at a time, a millisecond apart, then a pause
};

// Nodes whose clocks are up to 5 s and 50 ppm off. Ranks come up to some milliseconds apart,
// another one last each time; from then on a collective takes 5 to 500 us (many small, few large),
// and the ranks end some microseconds apart.
struct SimulatedJob {
  explicit SimulatedJob(const SimulatedSettings& wanted) : settings(wanted), random(wanted.seed) {
    for (unsigned i = 0; i < settings.node_count; ++i) {
      nodes.push_back(
          {.offset_ns = std::llround(between(-5e9, 5e9)), .drift = between(-50e-6, 50e-6)});
      if (settings.wandering) {
        nodes.back().drift = between(-30e-6, 30e-6);
        nodes.back().wander = between(5e-6, 20e-6);
        nodes.back().wander_period_ns = between(5.0, 8.0) * 3600e9;
        nodes.back().wander_phase = between(0.0, 6.28);
      }
    }
  }

  void set_clock(std::size_t node, std::int64_t by_ns) {
    nodes[node].set_at_ns = simulation_start_ns + std::llround(settings.seconds * 0.5e9);
    nodes[node].set_by_ns = by_ns;
  }

  // Where there is something to be right about: around each burst.
  [[nodiscard]] std::vector<ClockSpans> spans() const {
    std::vector<ClockSpans> all;
    for (const SimulatedNode& node : nodes) {
      ClockSpans spans;
      for (const auto& [from_ns, until_ns] : true_spans()) {
        spans.push_back({node.at(from_ns), node.at(until_ns)});
      }
      all.push_back(spans);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::pair<std::int64_t, std::int64_t>> true_spans() const {
    if (settings.per_burst == 1) {
      return {{simulation_start_ns, simulation_start_ns + std::llround(settings.seconds * 1e9)}};
    }
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (unsigned i = 0; i < settings.collectives; i += settings.per_burst) {
      const std::int64_t from_ns = simulation_start_ns + std::llround(begin_of(i));
      spans.emplace_back(from_ns, from_ns + 1'001'000LL * settings.per_burst);
    }
    return spans;
  }

  void fill(CollectiveTable& table) const {
    std::mt19937_64 same = random;
    std::vector<std::vector<Line>> by_node(nodes.size());
    for (unsigned i = 0; i < settings.collectives; ++i) add_collective(i, same, by_node);
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
      for (const Line& line : by_node[node]) table.add(line.key, line.times);
      table.finish_node(node);
    }
  }

  SimulatedSettings settings;
  std::mt19937_64 random;
  std::vector<SimulatedNode> nodes;

 private:
  struct Line {
    CollectiveKey key;
    CollectiveTimes times;
  };

  static double unit(std::mt19937_64& from) {
    return std::uniform_real_distribution<double>(0, 1)(from);
  }
  double between(double low, double high) { return low + (high - low) * unit(random); }

  [[nodiscard]] double begin_of(unsigned number) const {
    const unsigned burst = number / settings.per_burst;
    return settings.seconds * 1e9 * burst * settings.per_burst / settings.collectives +
           (number % settings.per_burst) * 1e6;
  }

  void add_collective(unsigned number, std::mt19937_64& from,
                      std::vector<std::vector<Line>>& by_node) const {
    const unsigned count = settings.node_count;
    const unsigned first = settings.neighbours_only ? number % (count - 1) : 0;
    const unsigned last = settings.neighbours_only ? first + 1 : count - 1;
    const unsigned ranks = (last - first + 1) * settings.ranks_per_node;
    const double jitter = unit(from) * 0.5;
    const double begin_ns = settings.per_burst == 1
                                ? settings.seconds * 1e9 * (number + jitter) / settings.collectives
                                : begin_of(number) + jitter * 1e6;
    std::vector<double> starts;
    for (unsigned rank = 0; rank < ranks; ++rank) {
      starts.push_back(begin_ns - 400e3 * std::log(1.0 - unit(from) * 0.9999));
    }
    const unsigned root = settings.root.value_or(static_cast<unsigned>(from() % ranks));
    const bool is_reduce = from() % 2 == 0;
    const double latest = *std::max_element(starts.begin(), starts.end());
    const double took_ns = 5e3 * std::exp(unit(from) * std::log(100.0));
    for (unsigned rank = 0; rank < ranks; ++rank) {
      const unsigned node = first + rank / settings.ranks_per_node;
      // One way: a rank that waits for the root alone, or for nobody, is done earlier.
      const bool waits_for_all = !settings.one_way || (is_reduce && rank == root);
      const double waited_for =
          waits_for_all ? latest : std::max(starts[rank], is_reduce ? starts[rank] : starts[root]);
      const double end = waited_for + took_ns + unit(from) * 3e3;
      const bool is_root = rank == root;
      const bool tells_start = !settings.one_way || is_root != is_reduce;
      const bool tells_end = !settings.one_way || is_root == is_reduce;
      CollectiveTimes times;
      if (tells_start) times.start_ns = on(node, starts[rank]);
      if (tells_end) times.end_ns = on(node, end);
      by_node[node].push_back({{0xabc0 + first, number}, times});
    }
  }

  [[nodiscard]] std::int64_t on(unsigned node, double since_ns) const {
    return nodes[node].at(simulation_start_ns + std::llround(since_ns));
  }
};

}  // namespace traceagent::tools
