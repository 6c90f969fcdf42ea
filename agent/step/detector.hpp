#pragma once

#include <cstdint>
#include <memory>

#include "agent/step/detector_token.hpp"

namespace traceagent::step {

/// Finds the optimizer steps of a job in the sequence of its calls.
///
/// A pure function of the sequence of tokens: it never looks at a clock, so that all ranks that
/// take part in the same collectives decide alike and at the same call. One thread at a time.
/// All memory is taken in the constructor (a few MB, touched as the sequence grows).
class Detector {
 public:
  explicit Detector(DetectorListener& listener);
  ~Detector();
  Detector(const Detector&) = delete;
  Detector& operator=(const Detector&) = delete;

  void feed(const Token& token) noexcept;

  /// Which kinds of token still make a difference.
  bool wants_launches() const noexcept;
  bool wants_boundaries() const noexcept;
  bool wants_collectives() const noexcept;
  bool locked() const noexcept;
  /// Some period has repeated and is being verified.
  bool has_candidate() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace traceagent::step
