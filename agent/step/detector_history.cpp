#include "agent/step/detector_history.hpp"

#include <new>

#include "agent/event/held_memory.hpp"

namespace traceagent::step {
namespace {

constexpr std::uint64_t base = 0x9e3779b97f4a7c15ULL | 1;

}  // namespace

// Zero as the system gives it: pages that a short job never reaches are never touched.
History::History() : entries_(static_cast<Entry*>(event::held_calloc(capacity, sizeof(Entry)))) {
  if (entries_ == nullptr) throw std::bad_alloc();
  std::uint64_t power = 1;
  for (std::uint64_t& each : low_powers_) {
    each = power;
    power *= base;
  }
  const std::uint64_t step = power;
  power = 1;
  for (std::uint64_t& each : high_powers_) {
    each = power;
    power *= step;
  }
}

void History::append(const Token& token, const CallCounts& before) noexcept {
  const std::uint64_t symbols[track_count] = {mixed(token.exact), mixed(token.shape)};
  Entry& entry = entries_[size_ % capacity];
  for (int track = 0; track < track_count; ++track) {
    const std::uint64_t so_far = prefix(static_cast<Track>(track), size_);
    entry.symbol[track] = symbols[track];
    entry.prefix[track] = so_far * base + symbols[track];
  }
  entry.ticks = token.ticks;
  entry.number = size_ + 1;
  entry.before = before;
  ++size_;
}

void History::pass_over(std::uint64_t count) noexcept {
  if (count == 0) return;
  size_ += count;
  // The hashes of what is appended next begin here.
  Entry& last = entries_[(size_ - 1) % capacity];
  for (std::uint64_t& prefix : last.prefix) prefix = 0;
  last.number = 0;
}

bool History::repeats(Track track, std::uint64_t period, std::uint64_t length) const noexcept {
  if (oldest() + length > size_ || length - period > 2 * longest_period) return false;
  return hash(track, size_ - length + period, size_) == hash(track, size_ - length, size_ - period);
}

}  // namespace traceagent::step
