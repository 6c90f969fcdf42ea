#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tests/unit/tools/simulated_clocks.hpp"
#include "tools/clocks/collective_table.hpp"

namespace traceagent::tools {

// A clock that drifts, and whose drift wanders, within the usual limits, and that somebody sets.
struct RandomClock {
  double offset_ns = 0;
  double drift = 0;
  double wander = 0;
  double wander_phase = 0;
  std::vector<std::pair<double, double>> sets;  // true time since the start, by how much

  [[nodiscard]] std::int64_t at(double since_ns) const {
    constexpr double turns = 2 * 3.14159265358979323846 / 6000e9;
    double shown =
        offset_ns + drift * since_ns + wander / turns * std::sin(turns * since_ns + wander_phase);
    for (const auto& [when_ns, by_ns] : sets) {
      shown += since_ns >= when_ns ? by_ns : 0.0;
    }
    return simulation_start_ns + std::llround(since_ns) + std::llround(shown);
  }
};

struct RandomJobSettings {
  std::uint64_t seed = 0;
  bool with_sets = true;
};

// Two nodes whose collectives come in bursts, with pauses of seconds to minutes. Everything is
// drawn: how often collectives come, how long one node waits for the other, and of which of the two
// clocks by how much and when it is set: up to four times, mostly in pauses.
struct RandomJob {
  struct Collective {
    double starts_ns[2] = {};  // true times since the start, of both nodes
    double ends_ns[2] = {};
  };

  explicit RandomJob(const RandomJobSettings& settings) : random(settings.seed) {
    for (RandomClock& clock : clocks) {
      clock = {.offset_ns = between(-5e9, 5e9),
               .drift = between(-50e-6, 50e-6),
               .wander = between(0, 2e-6),
               .wander_phase = between(0, 6.28),
               .sets = {}};
    }
    add_bursts();
    if (settings.with_sets) {
      add_sets();
    }
  }

  [[nodiscard]] std::vector<ClockSpans> spans() const {
    std::vector<ClockSpans> all;
    for (const RandomClock& clock : clocks) {
      // A clock that was set back may show an earlier time at the end.
      std::int64_t from_ns = clock.at(0);
      std::int64_t until_ns = clock.at(end_ns);
      for (const auto& [when_ns, by_ns] : clock.sets) {
        from_ns = std::min(from_ns, clock.at(when_ns));
        until_ns = std::max(until_ns, clock.at(when_ns - 1));
      }
      all.push_back({{from_ns, until_ns}});
    }
    return all;
  }

  [[nodiscard]] CollectiveTable::Solved solved() const {
    CollectiveTable table;
    for (std::uint32_t node = 0; node < 2; ++node) {
      for (std::size_t i = 0; i < collectives.size(); ++i) {
        table.add({7, i}, {.start_ns = clocks[node].at(collectives[i].starts_ns[node]),
                           .end_ns = clocks[node].at(collectives[i].ends_ns[node])});
      }
      table.finish_node(node);
    }
    return table.solve(spans());
  }

  // How often the clocks were set while node 1's showed these times.
  [[nodiscard]] std::size_t sets_within(const ClockSpan& span) const {
    std::size_t count = 0;
    for (const RandomClock& clock : clocks) {
      for (const auto& each : clock.sets) {
        const std::int64_t before = clocks[1].at(each.first - 1);
        const std::int64_t behind = clocks[1].at(each.first);
        count +=
            std::max(before, behind) >= span.from_ns && std::min(before, behind) <= span.until_ns
                ? 1
                : 0;
      }
    }
    return count;
  }

  // True times since the start at which to look: all over, at collectives and around the sets.
  [[nodiscard]] std::vector<double> moments() {
    std::vector<double> all;
    for (int i = 0; i < 400; ++i) {
      all.push_back(between(0, end_ns));
      const Collective& any = collectives[random() % collectives.size()];
      all.push_back(any.starts_ns[1]);
      all.push_back(any.ends_ns[1]);
    }
    for (const RandomClock& clock : clocks) {
      for (const auto& each : clock.sets) {
        for (const double around_ns : {1.0, 1e5, 1e7, 1e9, 1e10}) {
          all.push_back(std::max(0.0, each.first - around_ns));
          all.push_back(std::min(end_ns, each.first + around_ns - 1));
        }
      }
    }
    return all;
  }

  std::mt19937_64 random;
  RandomClock clocks[2];
  std::vector<Collective> collectives;
  std::vector<std::pair<double, double>> pauses;  // true times
  double end_ns = 0;

 private:
  double unit() { return std::uniform_real_distribution<double>(0, 1)(random); }
  double between(double low, double high) { return low + (high - low) * unit(); }
  // As many small ones as large ones.
  double spread(double low, double high) { return low * std::exp(unit() * std::log(high / low)); }

  void add_bursts() {
    const unsigned bursts = static_cast<unsigned>(1 + random() % 6);
    const double wait_ns = spread(20e3, 3e6);
    for (unsigned burst = 0; burst < bursts; ++burst) {
      const double every_ns = spread(5e6, 5e9);
      const unsigned count = static_cast<unsigned>(1 + random() % 300);
      for (unsigned i = 0; i < count; ++i) {
        add_collective(wait_ns);
        end_ns += every_ns * between(0.2, 1.0);
      }
      const double pause_ns = spread(2e9, 600e9);
      pauses.emplace_back(end_ns, end_ns + pause_ns);
      end_ns += pause_ns;
    }
    end_ns = collectives.back().ends_ns[0] + between(0, 2e9);
    pauses.pop_back();
  }

  void add_collective(double wait_ns) {
    const auto late = static_cast<unsigned>(random() % 2);
    const double waited_ns = -wait_ns * std::log(1.0 - unit() * 0.9999);
    const double took_ns = spread(10e3, 500e3);
    Collective made;
    made.starts_ns[late] = end_ns + waited_ns;
    made.starts_ns[1 - late] = end_ns;
    for (double& end : made.ends_ns) {
      end = end_ns + waited_ns + took_ns + between(0, 3e3);
    }
    collectives.push_back(made);
    end_ns = end_ns + waited_ns + took_ns + 4e3;
  }

  void add_sets() {
    const auto count = static_cast<unsigned>(1 + random() % 4);
    for (unsigned i = 0; i < count; ++i) {
      // Before the first collective and behind the last nothing could show it.
      double when_ns = between(collectives.front().starts_ns[0], collectives.back().ends_ns[0]);
      if (!pauses.empty() && random() % 4 != 0) {
        const auto& pause = pauses[random() % pauses.size()];
        when_ns = between(pause.first, pause.second);
      }
      const double by_ns = spread(1e6, 1e9) * (random() % 2 == 0 ? 1 : -1);
      // There and back between the same two collectives nothing could show, either.
      const std::size_t gap = collectives_before(when_ns);
      if (std::find(gaps_with_set.begin(), gaps_with_set.end(), gap) == gaps_with_set.end()) {
        gaps_with_set.push_back(gap);
        clocks[random() % 2].sets.emplace_back(when_ns, by_ns);
      }
    }
  }

  [[nodiscard]] std::size_t collectives_before(double when_ns) const {
    return static_cast<std::size_t>(
        std::count_if(collectives.begin(), collectives.end(), [when_ns](const Collective& each) {
          return std::min(each.starts_ns[0], each.starts_ns[1]) < when_ns;
        }));
  }

  std::vector<std::size_t> gaps_with_set;
};

}  // namespace traceagent::tools
