// Solves the clocks of many nodes from collectives that all of them take part in, generated some
// thousand at a time: what is measured holds no trace, and generating is timed apart. Prints the
// times, the memory, and whether the true clocks lie within the stated bounds.
//
//   clocks_bench [NODES [COLLECTIVES]]

#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string_view>
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

struct Record {
  tools::CollectiveKey key;
  tools::CollectiveTimes times;
};

// 5 to 500 us, many small, few large.
std::vector<double> durations_ns() {
  constexpr int count = 1024;
  std::vector<double> all;
  for (int i = 0; i < count; ++i) {
    all.push_back(5e3 * std::pow(100.0, i / double{count}));
  }
  return all;
}

// The nodes come within a millisecond, another one last each time; from then on a collective takes
// its time, and the nodes end some microseconds apart.
class Node {
 public:
  Node(std::uint32_t number, std::uint32_t nodes)
      : number_(number), nodes_(nodes), clock_(clock_of(number)), state_(event::mix(number)) {}

  Record take_part_in(std::uint64_t collective) {
    const double begin_ns = static_cast<double>(collective) * gap_ns;
    const bool is_last = event::mix(collective) % nodes_ == number_;
    const double start = begin_ns + (is_last ? latest_ns : unit(state_) * latest_ns);
    const double took_ns = durations_ns_[event::mix(~collective) % durations_ns_.size()];
    const double end = begin_ns + latest_ns + took_ns + unit(state_) * 3e3;
    return {{0xc0, collective}, {.start_ns = clock_.at(start), .end_ns = clock_.at(end)}};
  }

 private:
  static constexpr double latest_ns = 1e6;
  std::uint32_t number_;
  std::uint32_t nodes_;
  Clock clock_;
  std::uint64_t state_;
  std::vector<double> durations_ns_ = durations_ns();
};

// Of one thread's work: on a busy machine it says more than the time that passes.
double cpu_s() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

// How long that took, without the generating.
double add_node(tools::CollectiveTable& table, std::uint32_t number, std::uint32_t nodes,
                std::uint64_t collectives) {
  constexpr std::uint64_t at_a_time = 4096;
  double added_s = 0;
  Node node(number, nodes);
  std::vector<Record> records;
  for (std::uint64_t i = 0; i < collectives;) {
    records.clear();
    for (const std::uint64_t end = std::min(collectives, i + at_a_time); i < end; ++i) {
      records.push_back(node.take_part_in(i));
    }
    const double began = cpu_s();
    for (const Record& record : records) {
      table.add(record.key, record.times);
    }
    added_s += cpu_s() - began;
  }
  const double began = cpu_s();
  table.finish_node(number);
  return added_s + cpu_s() - began;
}

bool is_within(const tools::ClockRoute& route, std::uint32_t node, double since_ns) {
  const std::int64_t truth = clock_of(0).at(since_ns);
  const std::int64_t own = clock_of(node).at(since_ns);
  const auto error = static_cast<double>(std::abs(route.correction.corrected(own) - truth));
  return error <= route.bound_ns;
}

constexpr char usage[] = "usage: clocks_bench [NODES [COLLECTIVES]]\n";

// 0: it is no number from 1 to `most`.
std::uint64_t count_of(const char* word, std::uint64_t most) {
  std::uint64_t count = 0;
  const char* const end = word + std::strlen(word);
  const auto read = std::from_chars(word, end, count);
  return read.ec == std::errc() && read.ptr == end && count <= most ? count : 0;
}

int run(std::uint32_t nodes, std::uint64_t collectives) {
  const double whole_ns = static_cast<double>(collectives) * gap_ns;
  const double began = cpu_s();
  tools::CollectiveTable table;
  std::vector<ClockSpans> spans;
  double added_s = 0;
  for (std::uint32_t node = 0; node < nodes; ++node) {
    added_s += add_node(table, node, nodes, collectives);
    spans.push_back({{clock_of(node).at(0), clock_of(node).at(whole_ns)}});
  }
  const double generated_s = cpu_s() - began - added_s;
  const double began_to_solve = cpu_s();
  const auto solved = table.solve(spans);
  const auto routes = tools::clock_routes(spans, solved.edges, {});
  const double solved_s = cpu_s() - began_to_solve;
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
      "%u nodes, %llu collectives of all of them: %llu records; CPU time: generated in %.1f s, "
      "added in %.1f s (%.1f ns a record), solved in %.3f s\n",
      nodes, static_cast<unsigned long long>(collectives),
      static_cast<unsigned long long>(nodes * collectives), generated_s, added_s,
      added_s * 1e9 / static_cast<double>(nodes * collectives), solved_s);
  std::printf("peak memory %ld MB; largest bound %.1f us; clocks within their bounds: %u of %u\n",
              usage.ru_maxrss / 1024, worst_ns / 1e3, right, nodes);
  return right == nodes ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string_view first = count > 1 ? words[1] : "";
  if (first == "-h" || first == "--help") {
    std::fputs(usage, stdout);
    return 0;
  }
  const std::uint64_t nodes = count > 1 ? count_of(words[1], 1'000'000) : 1000;
  const std::uint64_t collectives = count > 2 ? count_of(words[2], 1'000'000'000'000) : 1'000'000;
  if (count > 3 || nodes == 0 || collectives == 0) {
    std::fputs(usage, stderr);
    return 2;
  }
  return run(static_cast<std::uint32_t>(nodes), collectives);
}
