#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "agent/event/held_memory.hpp"
#include "agent/step/detector_candidate.hpp"
#include "agent/step/detector_history.hpp"

namespace traceagent::step {

/// Looks for the shortest periods that the newest tokens repeat with, on one track.
///
/// For context lengths 1, 4, 16, … a table knows where each context was last seen. Where the
/// sequence has period P, the context with P ≤ length < 4 P cannot occur at a shorter distance
/// than P (else the period would not be the shortest), so its last occurrence names P, and one
/// comparison of hashes proves it: constant work per token for any period.
class PeriodSearch {
 public:
  explicit PeriodSearch(Track track);

  /// Forgets all; `origin`: the first position that counts from now on.
  void restart(std::uint64_t origin) noexcept;

  /// Takes the newest token of the history in.
  void follow(const History& history) noexcept;

  /// The candidate whose verdict is in, and how many of its blocks make a step.
  struct Found {
    const Candidate* candidate = nullptr;
    std::uint32_t blocks_per_step = 0;
  };
  Found found(const History& history, bool launches_are_tokens) const noexcept;

  /// Some period of a step's scale has repeated and is being verified.
  bool has_candidate() const noexcept;
  const Candidate* begin() const noexcept { return candidates_; }
  const Candidate* end() const noexcept { return candidates_ + count_; }

 private:
  static constexpr int context_count = 8;
  static constexpr int table_bits = 14;
  static constexpr int most_candidates = 8;

  void drop_broken(const History& history) noexcept;
  void consider(const History& history, std::uint64_t period) noexcept;

  const Track track_;
  std::uint64_t origin_ = 0;
  /// context_count tables of positions (of a context's end; 0: none).
  std::unique_ptr<std::uint64_t[], event::HeldFree> tables_;
  Candidate candidates_[most_candidates];
  int count_ = 0;
};

}  // namespace traceagent::step
