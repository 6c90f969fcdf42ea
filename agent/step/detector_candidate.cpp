#include "agent/step/detector_candidate.hpp"

#include <algorithm>
#include <iterator>

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
  kernels_[blocks_ % kept_blocks] = last_block_.kernels;
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

/// Whether the host did something in (nearly) each of the last stretches of `blocks` blocks.
bool Candidate::has_boundaries(const History& history, std::uint64_t blocks) const noexcept {
  const std::uint64_t length = blocks * period_;
  const std::uint64_t known = edge_ - std::min(edge_, std::max(start_, history.oldest()));
  const std::uint64_t looked_at = std::min<std::uint64_t>(8, known / length);
  // A prefetching loader copies now and then two batches in one step and none in the next.
  std::uint64_t may_lack = looked_at / 4;
  std::uint64_t end = edge_;
  for (std::uint64_t i = 0; i < looked_at; ++i, end -= length) {
    if (history.counts(end).boundaries() != history.counts(end - length).boundaries()) continue;
    if (may_lack-- == 0) return false;
  }
  return looked_at >= 2;
}

/// A log line every so often, in blocks that are as the others. Layers are not: where a forward
/// pass begins or ends, more is launched than the layer; and once is no proof.
bool Candidate::has_rare_boundaries(const History& history, std::uint64_t blocks) const noexcept {
  constexpr std::uint64_t apart = 3;
  const std::uint64_t length = blocks * period_;
  const std::uint64_t equal = blocks > 1 ? blocks_ / blocks : equal_blocks();
  const std::uint64_t held = (edge_ - std::min(edge_, std::max(start_, history.oldest()))) / length;
  const std::uint64_t looked_at = std::min<std::uint64_t>({equal, held, kept_blocks});
  if (looked_at < 8) return false;
  const auto own = [&](std::uint64_t age) {
    return history.counts(edge_ - age * length).own_boundaries;
  };
  if (own(0) == own(looked_at)) return false;
  std::uint64_t last = looked_at + apart;
  int seen = 0;
  for (std::uint64_t age = 0; age < looked_at; ++age) {
    if (own(age) == own(age + 1)) continue;
    seen += last > looked_at || age - last >= apart ? 1 : 0;
    last = age;
  }
  return seen >= 2;
}

/// Whether stretches of `blocks` blocks are steps though the host does nothing in most of them.
bool Candidate::does_without_boundaries(const History& history, std::uint64_t blocks,
                                        bool launches_are_tokens) const noexcept {
  const std::uint64_t length = blocks * period_;
  const std::uint64_t oldest = std::min(edge_, std::max(start_, history.oldest()));
  const CallCounts& now = history.counts(edge_);
  if (has_rare_boundaries(history, blocks)) return true;
  if (!launches_are_tokens && blocks_ >= 8 && holds_micro_batches(history)) return true;
  const std::uint64_t silent =
      launches_are_tokens ? std::max<std::uint64_t>(4096, 16 * length) : 32 * length;
  if (edge_ - oldest < silent || history.counts(edge_ - silent).boundaries() != now.boundaries()) {
    return false;
  }
  // The tokens are more than a layer has, or more than a stack of layers; or the job never does
  // anything of the kind, though it is no stage of a pipeline (where other stages may).
  constexpr std::uint64_t most_of_a_layer = 8;
  constexpr std::uint64_t most_of_a_stack = 8192;
  if (now.boundaries() == 0 && now.point_to_points == 0 && !launches_are_tokens) {
    const auto looked_at = std::min<std::uint64_t>(32 * blocks, kept_blocks);
    if (repeats_every(static_cast<std::uint32_t>(blocks), static_cast<std::uint32_t>(looked_at))) {
      return true;
    }
  }
  if (launches_are_tokens && now.boundaries() == 0) return true;
  if (!launches_are_tokens && period_ >= most_of_a_layer) return true;
  return edge_ - oldest >= most_of_a_stack &&
         history.counts(edge_ - most_of_a_stack).boundaries() == now.boundaries();
}

std::uint64_t Candidate::equal_blocks() const noexcept {
  const auto known = std::min<std::uint64_t>(blocks_, kept_blocks);
  std::uint32_t equal = 1;
  while (equal < known && kernels_of_last(equal) == kernels_of_last(0)) ++equal;
  return equal;
}

bool Candidate::repeats_every(std::uint32_t blocks, std::uint32_t looked_at) const noexcept {
  if (looked_at > std::min<std::uint64_t>(blocks_, kept_blocks)) return false;
  for (std::uint32_t age = 0; age + blocks < looked_at; ++age) {
    if (kernels_of_last(age) != kernels_of_last(age + blocks)) return false;
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
      same += kernels_of_last(age) == kernels_of_last(other) ? 1 : 0;
    }
    most = std::max(most, same);
  }
  return 2 * most <= looked_at;
}

/// Whether two equal stretches with a send or receive follow each other inside the newest block:
/// micro batches, so that the block is more than one.
bool Candidate::holds_micro_batches(const History& history) const noexcept {
  struct Seen {
    std::uint64_t symbol, position;
  };
  Seen seen[8];
  std::uint32_t count = 0;
  if (edge_ - std::min(edge_, history.oldest()) < period_) return false;
  for (std::uint64_t i = edge_ - period_; i < edge_; ++i) {
    if (history.counts(i).point_to_points == history.counts(i + 1).point_to_points) continue;
    const std::uint64_t symbol = history.symbol(track_, i);
    Seen* last =
        std::find_if(seen, seen + count, [symbol](const Seen& s) { return s.symbol == symbol; });
    if (last == seen + count) {
      if (count < std::size(seen)) seen[count++] = {symbol, i};
      continue;
    }
    const std::uint64_t length = i - last->position;
    if (i + length <= edge_ &&
        history.hash(track_, last->position, i) == history.hash(track_, i, i + length)) {
      return true;
    }
    last->position = i;
  }
  return false;
}

std::uint64_t Candidate::blocks_wanted(const History& history,
                                       bool launches_are_tokens) const noexcept {
  // Accumulation of up to 8 micro batches shows at most 7 equal blocks of collectives in a row
  // (the eighth holds the optimizer), but 8 equal blocks of launches before the optimizer's.
  if (launches_are_tokens) return 9;
  // With a pipeline, a block in which the host never waits and nothing repeats is rather a micro
  // batch than a step.
  const bool is_of_pipeline = last_block_.point_to_points > 0;
  if (!is_of_pipeline || holds_inner_repeat_ || last_block_.synchronisations > 0) return 8;
  return blocks_ >= 32 || !holds_micro_batches(history) ? 32 : 8;
}

std::uint32_t Candidate::verdict(const History& history, bool launches_are_tokens) const noexcept {
  if (!at_edge(history) || blocks_ < 6) return 0;
  const std::uint32_t blocks = launches_are_tokens
                                   ? (blocks_ >= blocks_wanted(history, true) ? 1 : 0)
                                   : verdict_of_launches(history);
  if (blocks == 0 || blocks_ % blocks != 0) return 0;
  if (has_boundaries(history, blocks)) return blocks;
  return does_without_boundaries(history, blocks, launches_are_tokens) ? blocks : 0;
}

std::uint32_t Candidate::verdict_of_launches(const History& history) const noexcept {
  // Blocks in which nothing runs are rather a model's parameters that are sent round one by one;
  // but the launches of some jobs cannot be seen at all.
  constexpr std::uint64_t silent_blocks = 32;
  if (last_block_.launches == 0 && blocks_ < silent_blocks) return 0;
  if (!confirmed_ && track_ == Track::shape) return 0;
  const std::uint64_t equal = equal_blocks();
  if (equal >= 8 && equal >= blocks_wanted(history, false)) return 1;
  const std::uint32_t blocks = super_period(2);
  if (blocks > 0) return blocks;
  return is_noise() ? 1 : 0;
}

std::uint32_t Candidate::super_period(std::uint32_t least) const noexcept {
  const std::uint64_t equal = equal_blocks();
  for (std::uint32_t blocks = least; blocks <= most_blocks_per_step; ++blocks) {
    // Where the host does something in every block, each is at least a micro batch, and the
    // launches of two steps tell. Else a block may be a layer, and the micro batches of a step
    // look like steps: more of them than any step has must be equal.
    const std::uint32_t looked_at = confirmed_ ? std::max(2 * blocks, 6U) : 8 * blocks;
    if (equal < blocks && repeats_every(blocks, looked_at)) return blocks;
  }
  return 0;
}

}  // namespace traceagent::step
