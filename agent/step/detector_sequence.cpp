#include "agent/step/detector_sequence.hpp"

#include <algorithm>

namespace traceagent::step {

SequenceDetector::SequenceDetector(Tokens tokens, KernelSet& kernels, DetectorListener& listener)
    : tokens_(tokens), kernels_(kernels), listener_(listener) {}

void SequenceDetector::restart(std::uint64_t step) noexcept {
  origin_ = history_.size();
  first_step_ = step;
  exact_.restart(origin_);
  shape_.restart(origin_);
  locked_ = false;
  has_old_pattern_ = false;
}

void SequenceDetector::retire() noexcept {
  if (locked_) active().retire(listener_);
}

void SequenceDetector::feed(const Token& token, const CallCounts& before) noexcept {
  history_.append(token, before);
  if (locked_) {
    follow();
  } else {
    learn();
  }
}

void SequenceDetector::learn() noexcept {
  exact_.follow(history_);
  if (tokens_ == Tokens::collectives) shape_.follow(history_);
  if (!may_lock_) return;
  const auto [candidate, blocks_per_step] = found();
  if (candidate == nullptr) return;
  lock(*candidate, blocks_per_step, first_step_);
  active().follow(history_, listener_);
}

PeriodSearch::Found SequenceDetector::found() const noexcept {
  const bool are_launches = tokens_ == Tokens::launches;
  const auto exact = exact_.found(history_, are_launches);
  // While the exact hashes repeat too, they decide: buckets of different counts are one shape.
  if (exact.candidate != nullptr || exact_.has_candidate() || are_launches) return exact;
  return shape_.found(history_, false);
}

void SequenceDetector::lock(const Candidate& candidate, std::uint32_t blocks_per_step,
                            std::uint64_t first_step) noexcept {
  const std::uint64_t step = first_step + candidate.blocks() / blocks_per_step;
  active().lock(history_, candidate.track(), candidate.period(), blocks_per_step, step);
  const std::uint64_t end = history_.size() - 1;
  const std::uint64_t tokens = std::min(candidate.period() * blocks_per_step,
                                        end - std::max(candidate.start(), history_.oldest()));
  step_at_lock_ = history_.counts(end) - history_.counts(end - tokens);
  kernels_.know_since(history_.counts(std::max(candidate.start(), history_.oldest())).launches);
  locked_ = true;
  probation_ = true;
  broke_in_probation_ = false;
  searching_beside_ = true;
  LockReport report;
  report.kind = tokens_ == Tokens::launches         ? LockReport::Kind::launches
                : candidate.track() == Track::shape ? LockReport::Kind::collective_shapes
                                                    : LockReport::Kind::collectives;
  report.period = static_cast<std::uint32_t>(candidate.period());
  report.blocks_per_step = blocks_per_step;
  report.tokens_seen = history_.size() - origin_;
  report.step = step;
  report.ticks = history_.ticks(history_.size() - 1);
  listener_.on_locked(report);
}

void SequenceDetector::follow() noexcept {
  active().follow(history_, listener_);
  if (sees_old_pattern()) return return_to_old_pattern();
  if (probation_) end_probation();
  if (probation_ || !active().on_pattern()) {
    search_beside();
  } else {
    searching_beside_ = false;
  }
}

bool SequenceDetector::sees_old_pattern() noexcept {
  if (!has_old_pattern_) return false;
  Follower& old = followers_[1 - active_];
  const std::uint64_t symbol = history_.symbol(old.pattern().track(), history_.size() - 1);
  return old.watch(symbol, !active().on_pattern());
}

const Follower* SequenceDetector::ahead() const noexcept {
  if (learning() || active().matched() == 0) return nullptr;
  const Track track = active().pattern().track();
  const bool can_watch = !has_old_pattern_ || followers_[1 - active_].pattern().track() == track;
  return can_watch ? &active() : nullptr;
}

std::uint64_t SequenceDetector::blocks_ahead() const noexcept {
  // Of what has passed the history knows nothing: when a step that is found again has begun is said
  // by the last token before. That is to be a step before the first one of interest, at least.
  constexpr std::uint64_t most_tokens = History::capacity / 4;
  if (has_old_pattern_) return 0;
  const std::uint64_t most_blocks = most_tokens / active().pattern().length();
  const std::uint64_t steps = std::min(listener_.steps_to_pass(), most_blocks);
  return std::min(steps * active().blocks_per_step(), most_blocks);
}

// As follow() for each of them.
void SequenceDetector::glide(std::uint64_t count) noexcept {
  if (count == 0) return;
  Follower& old = followers_[1 - active_];
  for (std::uint64_t i = 0; has_old_pattern_ && i < count; ++i) {
    old.watch(active().pattern().symbol(active().matched() + i), false);
  }
  history_.pass_over(count);
  active().glide(count, listener_);
  searching_beside_ = false;
}

void SequenceDetector::end_probation() noexcept {
  constexpr std::uint64_t calm_steps = 64;
  constexpr std::uint64_t most_steps = 256;
  if (!active().on_pattern()) broke_in_probation_ = true;
  const std::uint64_t steps = active().steps_done();
  probation_ = steps < (broke_in_probation_ ? most_steps : calm_steps);
}

void SequenceDetector::search_beside() noexcept {
  if (!searching_beside_) {  // the token that left the pattern is the first to learn from
    searching_beside_ = true;
    exact_.restart(history_.size() - 1);
    shape_.restart(history_.size() - 1);
  }
  exact_.follow(history_);
  if (tokens_ == Tokens::collectives) shape_.follow(history_);
  if (probation_ && correct()) return;
  relearn_if_lost();
}

/// In probation: takes a longer period instead, if one shows that the pattern is less than a step.
bool SequenceDetector::correct() noexcept {
  for (const Candidate& candidate : search_of(active().pattern().track())) {
    if (!candidate.at_edge(history_)) continue;
    const std::uint32_t blocks = steps_true_blocks(candidate);
    if (blocks == 0) continue;
    active().retire(listener_);
    lock(candidate, blocks, first_step_);
    active().follow(history_, listener_);
    return true;
  }
  return false;
}

/// How many blocks of the candidate are the true step; 0 if the present one stands.
std::uint32_t SequenceDetector::steps_true_blocks(const Candidate& candidate) const noexcept {
  const std::uint64_t end = history_.size() - 1;
  if (candidate.period() > active().tokens_per_step()) {
    const bool is_new =
        candidate.blocks() >= 3 && is_whole_step(candidate.last_block(), steps_in(candidate));
    return is_new ? 1 : 0;
  }
  // The tokens go on as they were, but every so many blocks more is launched: an optimizer.
  if (tokens_ == Tokens::launches || candidate.period() != active().tokens_per_step()) return 0;
  const std::uint32_t blocks = candidate.super_period(9);
  if (blocks == 0 || candidate.blocks() % blocks != 0) return 0;
  const CallCounts all = history_.counts(end) - history_.counts(end - blocks * candidate.period());
  return is_whole_step(all, blocks) ? blocks : 0;
}

/// How many of the present steps one block of the candidate holds.
std::uint64_t SequenceDetector::steps_in(const Candidate& candidate) const noexcept {
  const std::uint64_t end = history_.size() - 1;
  const Pattern& pattern = active().pattern();
  return pattern.count(history_, end - candidate.period(), end) * pattern.length() /
         active().tokens_per_step();
}

/// Whether a longer period, made of what was taken for steps and a rest, is the true step: what the
/// rest holds is then the optimizer, a last micro batch, or the other phases of a pipeline.
bool SequenceDetector::is_whole_step(const CallCounts& all, std::uint64_t steps) const noexcept {
  constexpr std::uint64_t most_steps = 64;
  if (steps < 2 || steps > most_steps) return false;
  const CallCounts& step = step_at_lock_;
  const auto rest = [steps](std::uint64_t whole, std::uint64_t each) {
    return whole > steps * each ? whole - steps * each : 0;
  };
  const std::uint64_t launches = rest(all.launches, step.launches);
  const std::uint64_t copies = rest(all.copies, step.copies);
  // A line of logging waits for the few values that it computes.
  if (launches <= 4 * rest(all.synchronisations, step.synchronisations)) return false;
  // An evaluation runs what training runs; and for each batch that it copies, only the forward
  // pass.
  if (copies == 0) return 2 * std::uint64_t{all.new_launches} >= launches;
  return 20 * std::uint64_t{all.new_launches} >= launches &&
         10 * launches * step.copies >= 8 * step.launches * copies;
}

void SequenceDetector::relearn_if_lost() noexcept {
  const std::uint64_t step_tokens = active().tokens_per_step();
  const std::uint64_t patience = 8 * step_tokens + std::min<std::uint64_t>(4096, 64 * step_tokens);
  if (active().on_pattern() || active().tokens_since_step() < patience) return;
  const auto [candidate, blocks_per_step] = found();
  if (candidate == nullptr) return;
  const std::uint64_t step = active().step();
  active().retire(listener_);
  // What was lost at once, to a longer period, was no training (parameters that are sent round
  // one by one): its steps do not count. Else the old pattern is still looked for, because what
  // was learned may be a long evaluation.
  const bool was_false = probation_ && candidate->period() > active().tokens_per_step();
  if (!was_false) {
    has_old_pattern_ = true;
    active_ = 1 - active_;
  }
  lock(*candidate, blocks_per_step, was_false ? first_step_ : step);
  probation_ = probation_ && was_false;
  active().follow(history_, listener_);
}

void SequenceDetector::return_to_old_pattern() noexcept {
  active().retire(listener_);
  const std::uint64_t step = active().step();
  active_ = 1 - active_;
  active().adopt(history_, step, listener_);
}

}  // namespace traceagent::step
