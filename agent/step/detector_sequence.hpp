#pragma once

#include <cstdint>

#include "agent/step/detector_follower.hpp"
#include "agent/step/detector_history.hpp"
#include "agent/step/detector_kernels.hpp"
#include "agent/step/detector_search.hpp"

namespace traceagent::step {

/// Finds and follows the steps in one sequence of tokens: the collectives of the process, or the
/// launches of one thread.
class SequenceDetector {
 public:
  /// What the tokens are. Launches carry the optimizer in the sequence itself; of collectives the
  /// shape alone may repeat, and what was launched between them tells micro batches from steps.
  enum class Tokens : std::uint8_t { collectives, launches };

  /// `kernels`: of the job; told at a lock which are the pattern's.
  SequenceDetector(Tokens tokens, KernelSet& kernels, DetectorListener& listener);

  /// `before`: what the job had done before this token.
  void feed(const Token& token, const CallCounts& before) noexcept;

  /// The follower whose pattern says which tokens come next, while these make no difference but by
  /// their number until the block ends; null otherwise. Then glide() stands for feeding them.
  const Follower* ahead() const noexcept;
  /// How many blocks after that one make no more difference.
  std::uint64_t blocks_ahead() const noexcept;
  void glide(std::uint64_t count) noexcept;

  /// Forgets all that was learned; the next token is the first, steps count on from `step`.
  void restart(std::uint64_t step) noexcept;
  /// Takes an open step back: another sequence takes over.
  void retire() noexcept;

  /// No lock while the sequence is too short to be believed.
  void set_may_lock(bool may_lock) noexcept { may_lock_ = may_lock; }

  bool locked() const noexcept { return locked_; }
  /// Whether the calls between the tokens still make a difference.
  bool learning() const noexcept { return !locked_ || probation_ || !active().on_pattern(); }
  bool has_candidate() const noexcept { return exact_.has_candidate() || shape_.has_candidate(); }
  /// The number of the step that is open or comes next.
  std::uint64_t step() const noexcept { return locked_ ? active().step() : first_step_; }
  /// While it is locked.
  const Pattern& pattern() const noexcept { return active().pattern(); }

 private:
  Follower& active() noexcept { return followers_[active_]; }
  const Follower& active() const noexcept { return followers_[active_]; }
  PeriodSearch& search_of(Track track) noexcept { return track == Track::exact ? exact_ : shape_; }

  void learn() noexcept;
  void follow() noexcept;
  bool sees_old_pattern() noexcept;
  void search_beside() noexcept;
  void end_probation() noexcept;
  bool correct() noexcept;
  std::uint32_t steps_true_blocks(const Candidate& candidate) const noexcept;
  std::uint64_t steps_in(const Candidate& candidate) const noexcept;
  bool is_whole_step(const CallCounts& all, std::uint64_t steps) const noexcept;
  void relearn_if_lost() noexcept;
  void return_to_old_pattern() noexcept;
  PeriodSearch::Found found() const noexcept;
  void lock(const Candidate& candidate, std::uint32_t blocks_per_step,
            std::uint64_t first_step) noexcept;

  const Tokens tokens_;
  KernelSet& kernels_;
  DetectorListener& listener_;
  History history_;
  PeriodSearch exact_{Track::exact};
  PeriodSearch shape_{Track::shape};
  Follower followers_[2];
  int active_ = 0;
  CallCounts step_at_lock_;
  std::uint64_t origin_ = 0;      ///< the first position after the last restart
  std::uint64_t first_step_ = 0;  ///< its number
  bool may_lock_ = true;
  bool locked_ = false;
  bool has_old_pattern_ = false;
  /// The first steps after a lock, while a longer period may still show that it was too short.
  bool probation_ = false;
  bool broke_in_probation_ = false;
  bool searching_beside_ = false;
};

}  // namespace traceagent::step
