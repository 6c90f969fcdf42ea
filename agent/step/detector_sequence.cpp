#include "agent/step/detector_sequence.hpp"

#include <algorithm>

namespace traceagent::step {

SequenceDetector::SequenceDetector(Tokens tokens, DetectorListener& listener)
    : tokens_(tokens), listener_(listener) {}

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
  block_at_lock_ = candidate.last_block();
  locked_ = true;
  // Where accumulation was recognised the scale is known.
  probation_ = blocks_per_step == 1;
  broke_in_probation_ = false;
  searching_beside_ = probation_;
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
  if (has_old_pattern_ && followers_[1 - active_].watch(history_, !active().on_pattern())) {
    return return_to_old_pattern();
  }
  if (probation_) end_probation();
  if (probation_ || !active().on_pattern()) {
    search_beside();
  } else {
    searching_beside_ = false;
  }
}

void SequenceDetector::end_probation() noexcept {
  constexpr std::uint64_t calm_steps = 64;
  constexpr std::uint64_t most_steps = 256;
  if (!active().on_pattern()) broke_in_probation_ = true;
  const std::uint64_t steps = active().steps_done();
  probation_ = steps < (broke_in_probation_ ? most_steps : calm_steps);
}

void SequenceDetector::search_beside() noexcept {
  PeriodSearch& search = search_of(active().pattern().track());
  if (!searching_beside_) {  // the token that left the pattern is the first to learn from
    searching_beside_ = true;
    exact_.restart(history_.size() - 1);
    shape_.restart(history_.size() - 1);
  }
  if (probation_) {
    search.follow(history_);
    for (const Candidate& candidate : search) {
      if (candidate.period() <= active().tokens_per_step() || candidate.blocks() < 3) continue;
      if (!candidate.at_edge(history_)) continue;
      if (is_whole_step(candidate)) return correct(candidate);
    }
  } else {
    exact_.follow(history_);
    if (tokens_ == Tokens::collectives) shape_.follow(history_);
  }
  relearn_if_lost();
}

void SequenceDetector::correct(const Candidate& candidate) noexcept {
  active().retire(listener_);
  lock(candidate, 1, first_step_);
  active().follow(history_, listener_);
}

/// Whether a longer period, made of blocks of the pattern and a rest, is the true step: what the
/// rest holds is then the optimizer, a last micro batch, or the other phases of a pipeline.
bool SequenceDetector::is_whole_step(const Candidate& candidate) const noexcept {
  constexpr std::uint64_t most_blocks = 64;
  const Pattern& pattern = active().pattern();
  const std::uint64_t end = history_.size() - 1;
  const std::uint64_t blocks = pattern.count(history_, end - candidate.period(), end);
  if (blocks < 2 || blocks > most_blocks) return false;
  const auto rest = [blocks](std::uint64_t all, std::uint64_t each) {
    return all > blocks * each ? all - blocks * each : 0;
  };
  const CallCounts& all = candidate.last_block();
  const CallCounts& block = block_at_lock_;
  const std::uint64_t copies = rest(all.copies, block.copies);
  const std::uint64_t waits = rest(all.synchronisations, block.synchronisations);
  const bool are_launches = tokens_ == Tokens::launches;
  const std::uint64_t block_launches = are_launches ? pattern.length() : block.launches;
  const std::uint64_t launches =
      rest(are_launches ? candidate.period() : all.launches, block_launches);
  // A line of logging waits for the few values that it computes.
  if (launches <= 4 * waits) return false;
  // An evaluation goes forward only: it launches less for each batch that it copies.
  if (copies > 0) return 10 * launches * block.copies >= 8 * block_launches * copies;
  return launches <= 3 * block_launches || all.point_to_points > blocks * block.point_to_points;
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
