#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "agent/step/detector.hpp"

namespace traceagent::step::test {

/// Writes down the calls of a made-up job. Ticks are the number of the call, so that a step's
/// edge names the very call that it fell on.
class Job {
 public:
  std::vector<Token> tokens;
  /// Ticks of the first call, on the sequence that decides, of each true step.
  std::vector<std::uint64_t> edges;

  void collective(std::uint64_t shape, std::uint64_t count = 1) {
    add(Token::Kind::collective, shape * 1000003 + count, shape);
  }
  void point_to_point(std::uint64_t shape) { add(Token::Kind::point_to_point, shape, shape); }
  void launches(std::uint64_t kernel, int count, std::uint32_t thread = 1) {
    for (int i = 0; i < count; ++i) add(Token::Kind::launch, kernel, kernel, thread);
  }
  void synchronise() { add(Token::Kind::synchronise, 0, 0); }
  void copy(std::uint32_t thread = 1) { add(Token::Kind::copy_to_device, 0, 0, thread); }

  /// A new step's first deciding call is the next of this kind of call.
  void begin_step() { step_begins_ = true; }

 private:
  void add(Token::Kind kind, std::uint64_t exact, std::uint64_t shape, std::uint32_t thread = 1) {
    const bool decides = decided_by_launches ? kind == Token::Kind::launch && thread == leader
                                             : kind == Token::Kind::collective ||
                                                   kind == Token::Kind::point_to_point;
    if (step_begins_ && decides) {
      edges.push_back(tokens.size());
      step_begins_ = false;
    }
    tokens.push_back({exact, shape, tokens.size(), thread, kind});
  }

  bool step_begins_ = false;

 public:
  bool decided_by_launches = false;
  std::uint32_t leader = 1;
};

struct Recorder final : DetectorListener {
  struct Step {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
  };

  void on_step_begin(std::uint64_t step, std::uint64_t ticks) noexcept override {
    if (open) problem = "begin in an open step";
    open = true;
    current = step;
    steps[step] = {ticks, 0};
  }
  void on_step_end(std::uint64_t step, std::uint64_t ticks) noexcept override {
    if (!open || step != current) problem = "end of a step that is not open";
    open = false;
    steps[step].end = ticks;
    ++ended;
  }
  void on_step_retracted(std::uint64_t step) noexcept override {
    if (!open || step != current) problem = "retracted a step that is not open";
    open = false;
    steps.erase(step);
    ++retracted;
  }
  void on_locked(const LockReport& report) noexcept override { locks.push_back(report); }

  std::map<std::uint64_t, Step> steps;
  std::vector<LockReport> locks;
  std::string problem;
  std::uint64_t current = 0;
  std::uint64_t ended = 0;
  std::uint64_t retracted = 0;
  bool open = false;
};

inline Recorder run(const Job& job) {
  Recorder recorder;
  Detector detector(recorder);
  for (const Token& token : job.tokens) detector.feed(token);
  return recorder;
}

}  // namespace traceagent::step::test
