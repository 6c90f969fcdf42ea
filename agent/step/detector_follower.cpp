#include "agent/step/detector_follower.hpp"

#include <algorithm>

namespace traceagent::step {

Pattern::Pattern()
    : symbols_(std::make_unique_for_overwrite<std::uint64_t[]>(History::longest_period)),
      borders_(std::make_unique_for_overwrite<std::uint32_t[]>(History::longest_period)) {}

void Pattern::learn(const History& history, Track track, std::uint64_t period) noexcept {
  length_ = period;
  track_ = track;
  ++version_;
  const std::uint64_t begin = history.size() - 1 - period;
  for (std::uint64_t i = 0; i < period; ++i) symbols_[i] = history.symbol(track, begin + i);
  borders_[0] = 0;
  std::uint32_t border = 0;
  for (std::uint64_t i = 1; i < period; ++i) {
    while (border > 0 && symbols_[i] != symbols_[border]) border = borders_[border - 1];
    if (symbols_[i] == symbols_[border]) ++border;
    borders_[i] = border;
  }
}

std::uint64_t Pattern::advance(std::uint64_t matched, std::uint64_t symbol) const noexcept {
  while (matched > 0 && symbols_[matched] != symbol) matched = borders_[matched - 1];
  return symbols_[matched] == symbol ? matched + 1 : 0;
}

std::uint64_t Pattern::count(const History& history, std::uint64_t begin,
                             std::uint64_t end) const noexcept {
  std::uint64_t found = 0;
  std::uint64_t matched = 0;
  for (std::uint64_t position = begin; position < end; ++position) {
    matched = advance(matched, history.symbol(track_, position));
    if (matched < length_) continue;
    matched = 0;
    ++found;
  }
  return found;
}

void Follower::lock(const History& history, Track track, std::uint64_t period,
                    std::uint32_t blocks_per_step, std::uint64_t step) noexcept {
  pattern_.learn(history, track, period);
  step_ = step;
  steps_done_ = 0;
  matched_ = 0;
  longest_false_start_ = 0;
  tokens_since_step_ = 0;
  blocks_per_step_ = blocks_per_step;
  block_ = 0;
  on_pattern_ = true;
  open_ = false;
}

void Follower::follow(const History& history, StepListener& listener) noexcept {
  const std::uint64_t newest = history.size() - 1;
  const std::uint64_t symbol = history.symbol(pattern_.track(), newest);
  ++tokens_since_step_;
  if (on_pattern_ && follow_pattern(symbol, history.ticks(newest), listener)) return;
  look_for_pattern(history, symbol, listener);
}

bool Follower::follow_pattern(std::uint64_t symbol, std::uint64_t ticks,
                              StepListener& listener) noexcept {
  const bool at_edge = matched_ == 0 && block_ == 0;
  if (at_edge && open_) {
    open_ = false;
    listener.on_step_end(step_, ticks);
    ++step_;
    ++steps_done_;
    tokens_since_step_ = 1;
  }
  if (!pattern_.matches(matched_, symbol)) {
    on_pattern_ = false;
    // Of an accumulated step only the last block can be the beginning of the next try.
    if (block_ > 0) retract(listener);
    return false;
  }
  if (at_edge) {
    open_ = true;
    listener.on_step_begin(step_, ticks);
  }
  if (++matched_ == pattern_.length()) finish_block();
  return true;
}

void Follower::glide(std::uint64_t count, StepListener& listener) noexcept {
  const std::uint64_t step_before = step_;
  while (count > 0) {
    if (matched_ == 0 && block_ == 0) {
      ++step_;
      ++steps_done_;
      tokens_since_step_ = 0;
    }
    const std::uint64_t of_block = std::min(count, pattern_.length() - matched_);
    tokens_since_step_ += of_block;
    matched_ += of_block;
    count -= of_block;
    if (matched_ == pattern_.length()) finish_block();
  }
  if (step_ != step_before) listener.on_steps_passed(step_);
}

void Follower::finish_block() noexcept {
  matched_ = 0;
  block_ = (block_ + 1) % blocks_per_step_;
}

void Follower::look_for_pattern(const History& history, std::uint64_t symbol,
                                StepListener& listener) noexcept {
  const std::uint64_t before = matched_;
  matched_ = pattern_.advance(matched_, symbol);
  const bool is_false_start = before > 0 && matched_ != before + 1;
  if (is_false_start && open_) {
    longest_false_start_ = std::min(std::max(longest_false_start_, before), pattern_.length() - 1);
    retract(listener);
  }
  if (!open_ && matched_ > longest_false_start_) {
    open_ = true;
    listener.on_step_begin(step_, history.ticks(history.size() - matched_));
  }
  if (matched_ < pattern_.length()) return;
  on_pattern_ = true;
  block_ = 0;
  finish_block();
}

void Follower::retract(StepListener& listener) noexcept {
  if (!open_) return;
  open_ = false;
  listener.on_step_retracted(step_);
}

bool Follower::watch(std::uint64_t symbol, bool may_adopt) noexcept {
  matched_ = pattern_.advance(matched_, symbol);
  if (matched_ < pattern_.length()) return false;
  if (!may_adopt) matched_ = 0;
  return may_adopt;
}

void Follower::adopt(const History& history, std::uint64_t step, StepListener& listener) noexcept {
  step_ = step;
  tokens_since_step_ = pattern_.length();
  open_ = true;
  listener.on_step_begin(step_, history.ticks(history.size() - pattern_.length()));
  on_pattern_ = true;
  block_ = 0;
  finish_block();
}

void Follower::retire(StepListener& listener) noexcept {
  retract(listener);
  on_pattern_ = false;
  matched_ = 0;
  block_ = 0;
}

}  // namespace traceagent::step
