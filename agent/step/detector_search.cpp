#include "agent/step/detector_search.hpp"

#include <algorithm>
#include <new>

#include "agent/event/held_memory.hpp"

namespace traceagent::step {

// calloc: large zeroed memory comes untouched from the kernel, and only what is used gets pages.
PeriodSearch::PeriodSearch(Track track)
    : track_(track),
      tables_(static_cast<std::uint64_t*>(
          event::held_calloc(std::size_t{context_count} << table_bits, sizeof(std::uint64_t)))) {
  if (!tables_) throw std::bad_alloc();
}

void PeriodSearch::restart(std::uint64_t origin) noexcept {
  origin_ = origin;  // what the tables know of earlier positions is passed over
  count_ = 0;
}

void PeriodSearch::follow(const History& history) noexcept {
  drop_broken(history);
  const std::uint64_t end = history.size();
  const std::uint64_t earliest = std::max(origin_, history.oldest());
  for (int context = 0; context < context_count; ++context) {
    const std::uint64_t length = std::uint64_t{1} << (2 * context);
    if (earliest + length > end) break;
    const std::uint64_t hash = history.hash(track_, end - length, end);
    const std::uint64_t slot = (hash * 0xd6e8feb86659fd93ULL) >> (64 - table_bits);
    std::uint64_t& last = tables_[(static_cast<std::uint64_t>(context) << table_bits) + slot];
    if (last > earliest) consider(history, end - last);
    last = end;
  }
}

void PeriodSearch::drop_broken(const History& history) noexcept {
  for (int i = 0; i < count_;) {
    if (candidates_[i].follow(history)) {
      ++i;
      continue;
    }
    const std::uint64_t broken = candidates_[i].period();
    const bool confirmed = candidates_[i].confirmed();
    candidates_[i] = candidates_[--count_];
    if (!confirmed) continue;
    // The one moved here has not taken this token in yet: it is next.
    for (int j = 0; j < count_; ++j) {
      if (candidates_[j].period() > broken) candidates_[j].note_inner_repeat();
    }
  }
}

void PeriodSearch::consider(const History& history, std::uint64_t period) noexcept {
  // Three whole blocks and the first token of the next.
  const std::uint64_t length = 3 * period + 1;
  if (count_ == most_candidates || origin_ + length > history.size()) return;
  for (const Candidate& known : *this) {
    if (period % known.period() == 0) return;
  }
  if (period > History::longest_period || !history.repeats(track_, period, length)) return;
  candidates_[count_++] = Candidate(history, track_, period, origin_);
}

bool PeriodSearch::has_candidate() const noexcept {
  return std::any_of(begin(), end(), [](const Candidate& each) { return each.confirmed(); });
}

PeriodSearch::Found PeriodSearch::found(const History& history,
                                        bool launches_are_tokens) const noexcept {
  for (const Candidate& candidate : *this) {
    const std::uint32_t blocks = candidate.verdict(history, launches_are_tokens);
    if (blocks > 0) return {&candidate, blocks};
  }
  return {};
}

}  // namespace traceagent::step
