#pragma once

#include <cstdint>
#include <memory>

#include "agent/step/detector_history.hpp"

namespace traceagent::step {

/// The tokens of one block, and where a partial match of them goes on after a mismatch
/// (Knuth, Morris, Pratt).
class Pattern {
 public:
  Pattern();
  /// The `period` tokens before the history's newest.
  void learn(const History& history, Track track, std::uint64_t period) noexcept;

  std::uint64_t length() const noexcept { return length_; }
  std::uint64_t symbol(std::uint64_t place) const noexcept { return symbols_[place]; }
  /// Another one with each learn().
  std::uint64_t version() const noexcept { return version_; }
  Track track() const noexcept { return track_; }
  bool matches(std::uint64_t matched, std::uint64_t symbol) const noexcept {
    return symbols_[matched] == symbol;
  }
  /// How long a prefix of the pattern the sequence ends with, if it was `matched` (less than the
  /// length) and then came `symbol`.
  std::uint64_t advance(std::uint64_t matched, std::uint64_t symbol) const noexcept;
  /// How often the whole pattern is found, without overlap, in [begin, end) of the history.
  std::uint64_t count(const History& history, std::uint64_t begin,
                      std::uint64_t end) const noexcept;

 private:
  std::unique_ptr<std::uint64_t[]> symbols_;
  std::unique_ptr<std::uint32_t[]> borders_;
  std::uint64_t length_ = 0;
  std::uint64_t version_ = 0;
  Track track_ = Track::exact;
};

/// Follows a sequence along a learned pattern and announces the steps.
///
/// Where the sequence leaves the pattern (an evaluation, a checkpoint) the unfinished step is
/// retracted, and the pattern is looked for again. A step that is found again is announced as soon
/// as the match is longer than any that has turned out false: a forward pass that evaluation
/// shares with training costs one retraction, not one for each batch.
class Follower {
 public:
  /// `step`: the number of the step whose first token the history ends with; that token must be
  /// followed next.
  void lock(const History& history, Track track, std::uint64_t period,
            std::uint32_t blocks_per_step, std::uint64_t step) noexcept;

  /// Takes the newest token of the history in.
  void follow(const History& history, StepListener& listener) noexcept;

  /// The next `count` tokens were those of the pattern: as follow() for each of them, but that
  /// steps which began with one of them are announced as passed.
  void glide(std::uint64_t count, StepListener& listener) noexcept;

  /// As follow, announcing nothing, of a token's symbol on the pattern's track; true if the whole
  /// pattern was just seen and `may_adopt`. Then adopt() goes on from there.
  bool watch(std::uint64_t symbol, bool may_adopt) noexcept;
  void adopt(const History& history, std::uint64_t step, StepListener& listener) noexcept;
  /// Takes an open step back and goes on by watch().
  void retire(StepListener& listener) noexcept;

  const Pattern& pattern() const noexcept { return pattern_; }
  std::uint64_t step() const noexcept { return step_; }
  std::uint32_t blocks_per_step() const noexcept { return blocks_per_step_; }
  std::uint64_t tokens_per_step() const noexcept { return pattern_.length() * blocks_per_step_; }
  std::uint64_t steps_done() const noexcept { return steps_done_; }
  bool on_pattern() const noexcept { return on_pattern_; }
  /// How many tokens of the block are there; 0: the next begins one.
  std::uint64_t matched() const noexcept { return matched_; }
  std::uint64_t tokens_since_step() const noexcept { return tokens_since_step_; }

 private:
  bool follow_pattern(std::uint64_t symbol, std::uint64_t ticks, StepListener& listener) noexcept;
  void look_for_pattern(const History& history, std::uint64_t symbol,
                        StepListener& listener) noexcept;
  void finish_block() noexcept;
  void retract(StepListener& listener) noexcept;

  Pattern pattern_;
  std::uint64_t step_ = 0;
  std::uint64_t steps_done_ = 0;
  std::uint64_t matched_ = 0;
  std::uint64_t longest_false_start_ = 0;
  std::uint64_t tokens_since_step_ = 0;
  std::uint32_t blocks_per_step_ = 1;
  std::uint32_t block_ = 0;
  bool on_pattern_ = false;
  bool open_ = false;  ///< a step has been announced and not ended
};

}  // namespace traceagent::step
