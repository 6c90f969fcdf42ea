#include "config/schedule.hpp"

#include <algorithm>
#include <limits>

namespace traceagent::config {
namespace {

constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();

constexpr std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) noexcept {
  return a > most - b ? most : a + b;
}

constexpr std::uint64_t cycle_length(const Schedule& schedule) noexcept {
  return saturating_sum(saturating_sum(schedule.wait, schedule.warmup), schedule.active);
}

// The formula compares the batch with length * repeat + skip_first. That product overflows for
// large numbers; the number of whole cycles before the batch says the same and cannot.
constexpr bool used_up(const Schedule& schedule, std::uint64_t since_first,
                       std::uint64_t length) noexcept {
  return schedule.repeat != 0 && since_first / length >= schedule.repeat;
}

}  // namespace

Action action_at(const Schedule& schedule, std::uint64_t batch, bool last_batch_of_epoch) noexcept {
  const std::uint64_t length = cycle_length(schedule);
  if (length == 0 || batch < schedule.skip_first) return Action::skip;
  const std::uint64_t since_first = batch - schedule.skip_first;
  if (used_up(schedule, since_first, length)) return Action::skip;
  const std::uint64_t position = since_first % length;
  if (position < schedule.wait) return Action::skip;
  if (position - schedule.wait < schedule.warmup) return Action::warmup;
  if (position == length - 1 || last_batch_of_epoch) return Action::active_and_save;
  return Action::active;
}

std::string refusal(const Schedule& schedule) {
  if (schedule.active == 0) {
    return "active is 0, so that nothing would ever be recorded";
  }
  // active >= 1, so the length is never 0; it is `most` only when the sum does not fit.
  if (cycle_length(schedule) == most) return "wait + warmup + active is too large";
  if (saturating_sum(cycle_length(schedule), schedule.skip_first) == most) {
    return "skip_first + wait + warmup + active is too large";
  }
  return {};
}

bool records_in_epoch(const Schedule& schedule, std::uint64_t batches_of_epoch) noexcept {
  return saturating_sum(first_non_skip(schedule), schedule.warmup) < batches_of_epoch;
}

std::uint64_t skipped_from(const Schedule& schedule, std::uint64_t batch) noexcept {
  const std::uint64_t length = cycle_length(schedule);
  if (length == 0) return most;
  if (batch < schedule.skip_first) return first_non_skip(schedule) - batch;
  const std::uint64_t since_first = batch - schedule.skip_first;
  if (used_up(schedule, since_first, length)) return most;
  const std::uint64_t position = since_first % length;
  return position < schedule.wait ? schedule.wait - position : 0;
}

std::uint64_t cycles_before(const Schedule& schedule, std::uint64_t batch) noexcept {
  const std::uint64_t length = cycle_length(schedule);
  if (length == 0 || batch < schedule.skip_first) return 0;
  const std::uint64_t cycles = (batch - schedule.skip_first) / length;
  return schedule.repeat == 0 ? cycles : std::min(cycles, schedule.repeat);
}

std::uint64_t first_non_skip(const Schedule& schedule) noexcept {
  return saturating_sum(schedule.skip_first, schedule.wait);
}

bool never_again(const Schedule& schedule, std::uint64_t batch) noexcept {
  const std::uint64_t length = cycle_length(schedule);
  if (length == 0 || batch == most) return true;
  const std::uint64_t next = batch + 1;
  return next >= schedule.skip_first && used_up(schedule, next - schedule.skip_first, length);
}

std::string show(const Schedule& schedule) {
  return "skip_first=" + std::to_string(schedule.skip_first) +
         ",wait=" + std::to_string(schedule.wait) + ",warmup=" + std::to_string(schedule.warmup) +
         ",active=" + std::to_string(schedule.active) +
         ",repeat=" + std::to_string(schedule.repeat);
}

}  // namespace traceagent::config
