#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tools/clocks/clock_difference.hpp"
#include "tools/clocks/clock_lines.hpp"
#include "tools/clocks/clock_segments.hpp"

namespace traceagent::tools {

// Of the segments from `first` to before `end`, as seen from a time. Nothing where one side is not
// bounded.
std::optional<ClockLines> lines_of(std::vector<ClockSegment>& segments, std::size_t first,
                                   std::size_t end, double t_ns, const ClockLimits& limits);

// What the difference of two clocks is where segments meet, begin and end, all relative to what
// the owner of the segments chose.
class ClockKnots {
 public:
  struct Knot {
    double t_ns = 0;
    double y_ns = 0;
    double bound_ns = 0;
    bool after_step = false;
    bool is_kinked = false;
    double set_after_ns = 0;  // the step was within these
    double set_until_ns = 0;
  };

  // `segments`: not empty. `from_ns`, `until_ns`: of all times of the own node.
  ClockKnots(std::vector<ClockSegment>& segments, const ClockLimits& limits, double from_ns,
             double until_ns);

  [[nodiscard]] const std::vector<Knot>& all() const { return knots_; }
  // Somewhere the clocks wander faster than the limits say.
  [[nodiscard]] bool is_contradicted() const { return is_contradicted_; }
  // A difference that no drift explains, of one time.
  [[nodiscard]] const std::optional<ClockSegments::Contradiction>& contradiction() const {
    return contradiction_;
  }
  // Pauses in which a clock was set, though no collective alone contradicts it; the first of them.
  [[nodiscard]] std::size_t pauses_with_step() const { return pauses_with_step_; }
  [[nodiscard]] const std::optional<ClockSegments::Contradiction>& first_pause() const {
    return first_pause_;
  }
  [[nodiscard]] std::size_t steps() const { return steps_; }

 private:
  struct SetWithin {
    double after_ns = 0;
    double until_ns = 0;
  };
  struct Found {
    std::optional<ClockLines> lines;
    bool is_kinked = false;
  };

  void add_of(std::size_t segment, double from_ns, double until_ns);
  void begin_run(std::size_t segment);
  void begin_step(double set_after_ns, double set_until_ns);
  bool is_broken_before(std::size_t segment);
  void add(double t_ns, std::size_t segment);
  [[nodiscard]] Found around(double t_ns, std::size_t segment);
  [[nodiscard]] bool is_enough(const ClockLines& lines, double reach_ns) const;

  std::vector<ClockSegment>* segments_;
  ClockLimits limits_;
  std::vector<Knot> knots_;
  std::optional<SetWithin> pending_step_;  // and no knot since
  std::optional<ClockSegments::Contradiction> contradiction_;
  std::optional<ClockSegments::Contradiction> first_pause_;
  std::size_t pauses_with_step_ = 0;
  std::size_t steps_ = 0;
  bool is_contradicted_ = false;
};

}  // namespace traceagent::tools
