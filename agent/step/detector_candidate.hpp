#pragma once

#include <cstdint>

#include "agent/step/detector_history.hpp"

namespace traceagent::step {

/// A period that has repeated, while it is verified block by block.
///
/// The period of the collectives alone is not enough. A stack of equal layers repeats inside one
/// forward pass: so every block must hold something the host does once a step. Gradient
/// accumulation that reduces in every micro batch repeats inside one step: there the launches
/// tell, since the optimizer runs in one block of each step only.
class Candidate {
 public:
  static constexpr std::uint32_t most_blocks_per_step = 32;

  Candidate() = default;
  /// `origin`: the first position that may belong to the periodic part.
  Candidate(const History& history, Track track, std::uint64_t period, std::uint64_t origin);

  /// Takes the newest token of the history in; false if it breaks the period.
  bool follow(const History& history) noexcept;

  /// How many blocks make one step if that is clear at the newest token and a step begins there;
  /// 0 otherwise.
  std::uint32_t verdict(const History& history, bool launches_are_tokens) const noexcept;

  /// How many blocks (at least `least`) the launches of the blocks repeat with, seen twice;
  /// 0 if they do not, or are all equal.
  std::uint32_t super_period(std::uint32_t least) const noexcept;

  Track track() const noexcept { return track_; }
  std::uint64_t period() const noexcept { return period_; }
  std::uint64_t start() const noexcept { return start_; }
  std::uint64_t blocks() const noexcept { return blocks_; }
  /// What the job did in the newest whole block.
  const CallCounts& last_block() const noexcept { return last_block_; }
  bool at_edge(const History& history) const noexcept { return edge_ + 1 == history.size(); }
  /// Every block holds something that the host does once a step: more than a stack of layers.
  bool confirmed() const noexcept { return confirmed_; }
  /// A shorter period lived and died inside: this one is of a larger scale.
  void note_inner_repeat() noexcept { holds_inner_repeat_ = true; }

 private:
  static constexpr std::uint32_t kept_blocks = 8 * most_blocks_per_step;

  bool has_boundaries(const History& history, std::uint64_t blocks) const noexcept;
  bool has_rare_boundaries(const History& history, std::uint64_t blocks) const noexcept;
  bool does_without_boundaries(const History& history, std::uint64_t blocks,
                               bool launches_are_tokens) const noexcept;
  std::uint32_t verdict_of_launches(const History& history) const noexcept;
  void add_block(const History& history, std::uint64_t begin) noexcept;
  std::uint64_t kernels_of_last(std::uint32_t age) const noexcept {
    return kernels_[(blocks_ - 1 - age) % kept_blocks];
  }
  std::uint64_t equal_blocks() const noexcept;
  bool repeats_every(std::uint32_t blocks, std::uint32_t looked_at) const noexcept;
  bool is_noise() const noexcept;
  bool holds_micro_batches(const History& history) const noexcept;
  std::uint64_t blocks_wanted(const History& history, bool launches_are_tokens) const noexcept;

  std::uint64_t period_ = 0;
  std::uint64_t start_ = 0;
  std::uint64_t edge_ = 0;  ///< position of the newest block's end, where the next begins
  std::uint64_t blocks_ = 0;
  CallCounts last_block_;
  std::uint64_t kernels_[kept_blocks];  ///< what each of the newest blocks launched
  Track track_ = Track::exact;
  bool holds_inner_repeat_ = false;
  bool confirmed_ = false;
};

}  // namespace traceagent::step
