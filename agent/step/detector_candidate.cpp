#include "agent/step/detector_candidate.hpp"

#include <algorithm>

namespace traceagent::step {

Candidate::Candidate(const History& history, Track track, std::uint64_t period,
                     std::uint64_t origin)
    : period_(period), track_(track) {
  const std::uint64_t newest = history.size() - 1;
  const std::uint64_t earliest = std::max(origin, history.oldest());
  start_ = history.size() - 3 * period;
  while (start_ > earliest &&
         history.symbol(track, start_ - 1) == history.symbol(track, start_ - 1 + period)) {
    --start_;
  }
  // A block is known once the first token after it is there: what the job launches after the last
  // collective (the optimizer) belongs to it.
  for (edge_ = start_; edge_ + period <= newest; edge_ += period) add_block(history, edge_);
  confirmed_ = has_boundaries(history, 1);
}

void Candidate::add_block(const History& history, std::uint64_t begin) noexcept {
  last_block_ = history.counts(begin + period_) - history.counts(begin);
  launches_[blocks_ % kept_blocks] = last_block_.launches;
  ++blocks_;
}

bool Candidate::follow(const History& history) noexcept {
  const std::uint64_t newest = history.size() - 1;
  if (history.symbol(track_, newest) != history.symbol(track_, newest - period_)) return false;
  if (newest == edge_ + period_) {
    add_block(history, edge_);
    edge_ = newest;
    confirmed_ = confirmed_ || has_boundaries(history, 1);
  }
  return true;
}

bool Candidate::has_boundaries(const History& history, std::uint64_t blocks) const noexcept {
  const std::uint64_t length = blocks * period_;
  const std::uint64_t known = std::min(edge_ - start_, edge_ - std::min(edge_, history.oldest()));
  const std::uint64_t looked_at = std::min<std::uint64_t>(8, known / length);
  // A prefetching loader copies now and then two batches in one step and none in the next.
  std::uint64_t may_lack = looked_at / 4;
  std::uint64_t end = edge_;
  for (std::uint64_t i = 0; i < looked_at; ++i, end -= length) {
    if (history.counts(end).boundaries() != history.counts(end - length).boundaries()) continue;
    if (may_lack-- == 0) return is_silent(history, track_, length);
  }
  return looked_at >= 2;
}

/// Whether the tokens have gone on so long without any such call that steps hold none, and not
/// just a stack of equal layers inside a step.
bool Candidate::is_silent(const History& history, Track track, std::uint64_t period) noexcept {
  constexpr std::uint64_t where_never_seen = 1024;
  constexpr std::uint64_t where_seen_before = 8192;
  const std::uint32_t now = history.counts(history.size() - 1).boundaries();
  const bool never_seen = history.counts(history.oldest()).boundaries() == now;
  const std::uint64_t tokens = never_seen ? where_never_seen : where_seen_before;
  const std::uint64_t length = std::max(tokens, 16 * period) + 1;
  return history.repeats(track, period, length) &&
         history.counts(history.size() - length).boundaries() == now;
}

std::uint64_t Candidate::equal_blocks() const noexcept {
  const auto known = std::min<std::uint64_t>(blocks_, kept_blocks);
  std::uint32_t equal = 1;
  while (equal < known && launches_of_last(equal) == launches_of_last(0)) ++equal;
  return equal;
}

bool Candidate::repeats_every(std::uint32_t blocks) const noexcept {
  // Where the host does something in every block, each is at least a micro batch, and the launches
  // of two steps tell. Else a block may be a layer, and the micro batches of a step look like
  // steps: more of them than any step has must be equal.
  const std::uint32_t looked_at = confirmed_ ? std::max(2 * blocks, 6U) : 8 * blocks;
  if (looked_at > std::min<std::uint64_t>(blocks_, kept_blocks)) return false;
  for (std::uint32_t age = 0; age + blocks < looked_at; ++age) {
    if (launches_of_last(age) != launches_of_last(age + blocks)) return false;
  }
  return true;
}

bool Candidate::is_noise() const noexcept {
  constexpr std::uint32_t looked_at = 24;
  if (blocks_ >= 64) return true;
  if (blocks_ < looked_at) return false;
  // More than half of the blocks differ from each other: another thread's launches, no optimizer.
  std::uint32_t most = 0;
  for (std::uint32_t age = 0; age < looked_at; ++age) {
    std::uint32_t same = 0;
    for (std::uint32_t other = 0; other < looked_at; ++other) {
      same += launches_of_last(age) == launches_of_last(other) ? 1 : 0;
    }
    most = std::max(most, same);
  }
  return 2 * most <= looked_at;
}

std::uint64_t Candidate::blocks_wanted(bool launches_are_tokens) const noexcept {
  // Accumulation of up to 8 micro batches shows at most 7 equal blocks of collectives in a row
  // (the eighth holds the optimizer), but 8 equal blocks of launches before the optimizer's.
  if (launches_are_tokens) return 9;
  // With a pipeline, a block in which the host never waits and nothing repeats is rather a micro
  // batch than a step.
  const bool is_of_pipeline = last_block_.point_to_points > 0;
  if (is_of_pipeline && !holds_inner_repeat_ && last_block_.synchronisations == 0) return 32;
  return 8;
}

std::uint32_t Candidate::verdict(const History& history, bool launches_are_tokens) const noexcept {
  if (!at_edge(history) || blocks_ < 6) return 0;
  const std::uint32_t blocks =
      launches_are_tokens ? (blocks_ >= blocks_wanted(true) ? 1 : 0) : verdict_of_launches();
  if (blocks == 0 || blocks_ % blocks != 0) return 0;
  return has_boundaries(history, blocks) ? blocks : 0;
}

std::uint32_t Candidate::verdict_of_launches() const noexcept {
  // Blocks in which nothing runs are rather a model's parameters that are sent round one by one;
  // but the launches of some jobs cannot be seen at all.
  constexpr std::uint64_t silent_blocks = 32;
  if (last_block_.launches == 0 && blocks_ < silent_blocks) return 0;
  if (!confirmed_ && track_ == Track::shape) return 0;
  if (equal_blocks() >= blocks_wanted(false)) return 1;
  const std::uint32_t blocks = super_period(2);
  if (blocks > 0) return blocks;
  return is_noise() ? 1 : 0;
}

std::uint32_t Candidate::super_period(std::uint32_t least) const noexcept {
  const std::uint64_t equal = equal_blocks();
  for (std::uint32_t blocks = least; blocks <= most_blocks_per_step; ++blocks) {
    if (equal < blocks && repeats_every(blocks)) return blocks;
  }
  return 0;
}

}  // namespace traceagent::step
