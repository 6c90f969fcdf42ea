#pragma once

#include <cstdint>
#include <memory>

#include "agent/step/detector_token.hpp"

namespace traceagent::step {

class Pattern;

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

  /// What comes next if the job goes on as it did, and is of no interest but for its number. Then
  /// glide(), with no more than what is left of the block and of those after it, stands for feeding
  /// it.
  struct Ahead {
    const Pattern* pattern = nullptr;  ///< null: every token is to be fed
    std::uint64_t matched = 0;         ///< tokens of the pattern's that were fed
    std::uint64_t blocks = 0;          ///< after the one that has begun
    std::uint32_t thread = 0;          ///< launches: whose alone are the sequence; 0: collectives
  };
  Ahead ahead() const noexcept;
  void glide(std::uint64_t count) noexcept;

  /// The thread whose launches are the steps; 0: collectives are, or nothing is known yet.
  std::uint32_t leader() const noexcept;
  /// It launches no more: another thread may take its place.
  void leader_has_ended() noexcept;

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
