#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "tools/selection/arrows.hpp"
#include "tools/selection/event_fields.hpp"
#include "tools/selection/event_rules.hpp"
#include "tools/selection/open_slices.hpp"
#include "tools/selection/verdicts.hpp"

namespace traceagent::tools {

// Events that cannot be judged alone are judged here, in a first reading of the input, or of
// several in which one goes on where the other ends:
// - "B" and "E", "b" and "e", "S" and "F" are one slice, which overlaps the window or does not; its
//   category is that of its beginning. A beginning without an end lasts to the end of the trace; an
//   end without a beginning is unpaired.
// - The points of an arrow ("s", "t", "f") are kept where the innermost slices that they stand at
//   are, and both ends are. A point at no slice is judged by its own time and category; one within
//   a "B" by its own time and the slice's category.
// - Where the window cuts, the last value of each counter before it.
// Memory is bounded: of more "b" and "S" without an end than `most_open_async`, and of a thread's
// "B" as OpenSlices says, the oldest are given up, as beginnings without an end; of more counters
// than `most_counters` the others have no value before the window.
class PairedEvents {
 public:
  static constexpr std::size_t most_open_async = std::size_t{1} << 16;
  static constexpr std::size_t most_counters = std::size_t{1} << 16;

  explicit PairedEvents(const EventRules& rules, std::size_t inputs = 1)
      : rules_(rules), verdicts_(inputs) {}

  static bool is_one(char phase, std::int64_t ns, const EventRules& rules);

  // Each event of the inputs whose rank is wanted, in the order of time and of its file.
  void read(const EventFields& fields, std::int64_t ns, std::size_t input = 0);
  // One verdict for each of those for which is_one() is true, by input.
  Verdicts finish();
  // The last value of a counter before the window: it is kept. Other inputs may have a later one.
  struct Carried {
    std::int64_t ns = 0;
    std::size_t place = 0;  // among the verdicts
  };
  using CarriedCounters = std::unordered_map<std::uint64_t, Carried>;  // by their hash
  [[nodiscard]] const CarriedCounters& carried() const { return counters_; }

 private:
  struct Point {
    char phase;
    std::uint64_t id;
    std::size_t index;
    OpenSlices::Lane lane;
    Verdict own;  // of its own time and category
    bool is_in_time;
    bool is_settled;  // the verdict is known
    Verdict verdict;
  };
  struct Began {
    std::int64_t ns;
    std::size_t index;
    Verdict verdict;
  };

  [[nodiscard]] Verdict category_verdict(const EventFields& fields) const;
  [[nodiscard]] Verdict span_verdict(Verdict category, std::int64_t from_ns,
                                     std::int64_t to_ns) const;
  void read_slice(const EventFields& fields, std::int64_t ns);
  void read_end(const EventFields& fields, std::int64_t ns);
  void carry(std::uint64_t counter, const Carried& last);
  void read_async(const EventFields& fields, std::int64_t ns);
  void begin_async(std::uint64_t key, const Began& began);
  void give_up_oldest();
  void forget_ended();
  void leave_unended(std::size_t index, Verdict verdict, std::int64_t from_ns);
  void read_point(const EventFields& fields, std::int64_t ns);
  void settle(Point& point);
  void judge_points();
  std::size_t add(Verdict verdict) { return verdicts_.add(verdict, input_); }

  const EventRules& rules_;
  Verdicts verdicts_;
  std::size_t input_ = 0;  // whose event is being read
  OpenSlices slices_;
  Arrows arrows_{verdicts_};
  std::unordered_map<std::uint64_t, std::list<Began>> async_;
  std::size_t open_async_ = 0;                                      // in async_
  std::deque<std::pair<std::uint64_t, std::size_t>> oldest_async_;  // key, index; some have ended
  CarriedCounters counters_;
  // Of one time: the slices that they stand at may come behind them in the file.
  std::vector<Point> points_;
  std::int64_t points_ns_ = 0;
};

}  // namespace traceagent::tools
