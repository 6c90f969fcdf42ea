// Solves the clocks of many nodes from collectives that all of them take part in, generated as they
// are added: what is measured holds no trace. Prints the time, the memory, and whether the true
// clocks lie within the stated bounds.
//
//   clocks_bench [NODES [COLLECTIVES]]

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "agent/event/hash.hpp"
#include "tools/clocks/clock_tree.hpp"
#include "tools/clocks/collective_table.hpp"

namespace {

using namespace traceagent;
using tools::ClockSpans;

constexpr std::int64_t start_ns = 1'700'000'000'000'000'000;
constexpr double gap_ns = 1e6;  // between collectives

double unit(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15u;
  return static_cast<double>(event::mix(state) >> 11) * 0x1p-53;
}

struct Clock {
  double offset_ns;
  double drift;
  [[nodiscard]] std::int64_t at(double since_ns) const {
    return start_ns + std::llround(since_ns + offset_ns + drift * since_ns);
  }
};

Clock clock_of(std::uint64_t node) {
  std::uint64_t state = event::mix(node + 77);
  return {(unit(state) - 0.5) * 10e9, (unit(state) - 0.5) * 100e-6};
}

// The ranks come within a millisecond; from the last one on (of one node in 64 it is nearly the
// last) it takes 10 to 500 us.
void add_node(tools::CollectiveTable& table, std::uint32_t node, std::uint64_t collectives) {
  const Clock clock = clock_of(node);
  std::uint64_t state = event::mix(node);
  for (std::uint64_t i = 0; i < collectives; ++i) {
    const double begin_ns = static_cast<double>(i) * gap_ns;
    const bool is_late = (event::mix(i) + node) % 64 == 0;
    const double start = begin_ns + (is_late ? 1e6 : unit(state) * 1e6);
    const double took_ns = 10e3 + static_cast<double>(event::mix(~i) % 490'000);
    const double end = begin_ns + 1e6 + took_ns + unit(state) * 3e3;
    table.add({0xc0, i}, {.start_ns = clock.at(start), .end_ns = clock.at(end)});
  }
  table.finish_node(node);
}

bool is_within(const tools::ClockRoute& route, std::uint32_t node, double since_ns) {
  const std::int64_t truth = clock_of(0).at(since_ns);
  const std::int64_t own = clock_of(node).at(since_ns);
  const auto error = static_cast<double>(std::abs(route.correction.corrected(own) - truth));
  return error <= route.bound_ns;
}

double seconds_since(std::chrono::steady_clock::time_point then) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - then).count();
}

}  // namespace

int main(int count, char** words) {
  const auto nodes = static_cast<std::uint32_t>(count > 1 ? std::atoll(words[1]) : 1000);
  const auto collectives = static_cast<std::uint64_t>(count > 2 ? std::atoll(words[2]) : 1'000'000);
  const double whole_ns = static_cast<double>(collectives) * gap_ns;
  const auto began = std::chrono::steady_clock::now();
  tools::CollectiveTable table;
  std::vector<ClockSpans> spans;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    add_node(table, node, collectives);
    spans.push_back({{clock_of(node).at(0), clock_of(node).at(whole_ns)}});
  }
  const double added_s = seconds_since(began);
  const auto solved = table.solve(spans);
  const auto routes = tools::clock_routes(spans, solved.edges, {});
  double worst_ns = 0;
  std::uint32_t right = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    if (!routes[node]) continue;
    worst_ns = std::max(worst_ns, routes[node]->bound_ns);
    right += is_within(*routes[node], node, 0) && is_within(*routes[node], node, whole_ns / 3) &&
                     is_within(*routes[node], node, whole_ns)
                 ? 1
                 : 0;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf(
      "%u nodes, %llu collectives of all of them: %llu records (generated too) in %.1f s, solved "
      "in %.3f s\n",
      nodes, static_cast<unsigned long long>(collectives),
      static_cast<unsigned long long>(nodes * collectives), added_s,
      seconds_since(began) - added_s);
  const auto cpu_s = static_cast<double>(usage.ru_utime.tv_sec) +
                     static_cast<double>(usage.ru_utime.tv_usec) / 1e6;
  std::printf(
      "CPU time %.1f s; peak memory %ld MB; largest bound %.1f us; clocks within their bounds: %u "
      "of %u\n",
      cpu_s, usage.ru_maxrss / 1024, worst_ns / 1e3, right, nodes);
  return right == nodes ? 0 : 1;
}
